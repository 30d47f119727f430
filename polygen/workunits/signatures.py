"""The parameters of work units: indices, team members, accumulators, and what a dispatch passes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polygen.errors import PolicyMismatch, UserError
from polygen.source import SourceLocation, caller_location, together
from polygen.workunits.accumulators import AccumulatorType
from polygen.workunits.captured_values import captured_names
from polygen.workunits.policies import Policy, TeamPolicy
from polygen.workunits.views import ViewType


@dataclass(frozen=True)
class UnitSignature:
    """The parameters of a work unit by what they are for.

    Attributes:
        owner: the object's parameter of a method; empty for a function.
        indices: those of the policy.
        member: that of the team; empty without one.
        accumulators: what is added up, with the declared types.
        last_pass: what tells the pass of a scan; empty without one.
        others: what a dispatch passes.
        defaults: of these.
        declared: what annotations say of these.
        captured: names from outside of the work unit that stand for views and objects.
    """

    owner: str
    indices: tuple[str, ...]
    member: str
    accumulators: tuple[tuple[str, AccumulatorType], ...]
    last_pass: str
    others: tuple[str, ...]
    defaults: Mapping[str, Any]
    declared: Mapping[str, Any]
    captured: tuple[str, ...] = ()

    def arguments(self, given: Mapping[str, Any], shown: str) -> dict[str, Any]:
        """Return what a dispatch passes, in the order of the parameters.

        Parameters:
            given: the arguments by name.
            shown: the name of the work unit.

        Raises:
            PolicyMismatch: for one that is missing, or no parameter.
            ViewMismatch: for one that is not what its annotation says.
        """
        missing = [n for n in self.others if n not in given and n not in self.defaults]
        unknown = [n for n in given if n not in self.others]
        if missing or unknown:
            said = [f"nothing for {_listed(missing)}"] if missing else []
            said += [f"{_listed(unknown)}, which it does not have"] if unknown else []
            takes = _listed(self.others) or "nothing"
            raise PolicyMismatch(
                f"'{shown}' is given {' and '.join(said)}",
                where=caller_location(),
                remedy=f"behind what the policy passes, '{shown}' takes {takes}, by name",
            )
        found = {n: given.get(n, self.defaults.get(n)) for n in self.others}
        for name, declared in self.declared.items():
            declared.check(name, found[name])
        return found


def _listed(names: Any) -> str:
    return ", ".join([f"'{name}'" for name in names])


def signature_of(
    function: Callable[..., Any], pattern: str, policy: Policy, *, is_method: bool
) -> UnitSignature:
    """Return the parameters of a work unit.

    Parameters:
        function: the function.
        pattern: ``for``, ``reduce`` or ``scan``.
        policy: which indices it gets.
        is_method: whether the first parameter is the object's.

    Raises:
        PolicyMismatch: if there are not enough, or one is declared as something else.
    """
    annotations = annotations_of(function)
    names = list(inspect.signature(function).parameters)
    owner = names.pop(0) if is_method else ""
    is_team = isinstance(policy, TeamPolicy)
    count = 1 if isinstance(policy, TeamPolicy) else len(policy.ranges)
    first, names = names[:count], names[count:]
    wrong = [n for n in first if isinstance(annotations.get(n), ViewType | AccumulatorType)]
    if len(first) < count or wrong:
        what = "a team member" if is_team else f"{count} {'index' if count == 1 else 'indices'}"
        raise PolicyMismatch(
            f"the policy passes {what} to '{function.__name__}', and "
            + (f"'{wrong[0]}' is declared as something else" if wrong else "it takes fewer"),
            where=together([caller_location(), _place(function)]),
            remedy="give the work unit a parameter for each index of the policy, before all others",
        )
    accumulators: list[tuple[str, AccumulatorType]] = []
    if pattern != "for":
        declared = [n for n in names if isinstance(annotations.get(n), AccumulatorType)]
        for name in declared or names[:1]:
            kind = annotations.get(name)
            if not isinstance(kind, AccumulatorType):
                kind = AccumulatorType(None)
            accumulators.append((name, kind))
        names = [n for n in names if n not in dict(accumulators)]
        if not accumulators or (pattern == "scan" and not names):
            raise PolicyMismatch(
                f"'{function.__name__}' has no parameter for "
                + ("the accumulator" if not accumulators else "the pass of the scan"),
                where=together([caller_location(), _place(function)]),
                remedy="behind the indices, a reduction has 'acc: pk.Acc[pk.double]', a scan "
                "'last_pass: bool' behind that",
            )
    last_pass = names.pop(0) if pattern == "scan" else ""
    parameters = inspect.signature(function).parameters
    return UnitSignature(
        owner,
        () if is_team else tuple(first),
        first[0] if is_team else "",
        tuple(accumulators),
        last_pass,
        tuple(names),
        {n: p.default for n, p in parameters.items() if p.default is not p.empty},
        {n: annotations[n] for n in names if isinstance(annotations.get(n), ViewType)},
        captured_names(function),
    )


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return annotations as values; none of what cannot be found any more."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, UserError):
        return {}


def _place(function: Callable[..., Any]) -> SourceLocation:
    return SourceLocation(function.__code__.co_filename, function.__code__.co_firstlineno)
