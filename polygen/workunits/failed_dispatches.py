"""Dispatches that fail: the error in words of the work unit, with the iteration if one is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.errors import PolygenError, RaceFound, SubscriptOutOfBounds
from polygen.lazy.futures import Future
from polygen.workunits.out_of_bounds import first_out_of_bounds, somewhere_out_of_bounds
from polygen.workunits.plain_runs import run_plainly
from polygen.workunits.policies import MDRangePolicy, Policy, TeamPolicy
from polygen.workunits.refusals import as_users_know
from polygen.workunits.signatures import UnitSignature
from polygen.workunits.translation.driver import bounds_of


@dataclass(frozen=True)
class DispatchKind:
    """A kind of dispatch, of which errors are told.

    Attributes:
        function: the function of the work unit.
        pattern: ``for``, ``reduce`` or ``scan``.
        policy: a policy of the kind.
        signature: the parameters of the work unit.
        names: what it is passed, in order.
    """

    function: Callable[..., Any]
    pattern: str
    policy: Policy
    signature: UnitSignature
    names: tuple[str, ...]

    def told(
        self, error: Exception, policy: Policy, owner: Sequence[Any], passed: Mapping[str, Any]
    ) -> Exception:
        """Return an error; if an iteration goes beyond a view, the one that says which.

        Parameters:
            error: what a program raised.
            policy: the policy.
            owner: the object, of a method.
            passed: what the work unit was passed, by name.
        """
        if not isinstance(error, IndexError | RaceFound):
            return error
        signature = self.signature
        given = [*owner, *[passed[name] for name in signature.others]]
        captured = {name: passed[name] for name in signature.captured}
        begins = [kind.start for _, kind in signature.accumulators]

        def run(function: Callable[..., Any], part: Policy, copies: Sequence[Any]) -> Any:
            return run_plainly(function, self.pattern, part, signature, begins, copies)

        is_beyond = isinstance(error, IndexError)
        found: SubscriptOutOfBounds | None = first_out_of_bounds(
            self.function, policy, given, captured, run, is_beyond=is_beyond
        )
        if found is None and isinstance(error, IndexError):
            return somewhere_out_of_bounds(error, self.function)
        return found or error

    def explain(
        self, error: Exception, arguments: Sequence[Any], *, are_unchanged: bool
    ) -> Exception:
        """Return an error of a dispatch that waited.

        Parameters:
            error: what a program raised.
            arguments: the arguments of the program.
            are_unchanged: whether no call behind it may have written them.
        """
        if isinstance(error, PolygenError):
            error = as_users_know(error, self.function.__name__)
        values = [one.value if _is_known(one) else one for one in arguments]
        if not are_unchanged or any(isinstance(one, Future) for one in values):
            if isinstance(error, IndexError):
                return somewhere_out_of_bounds(error, self.function)
            return error
        count = len(bounds_of(self.policy))
        policy = _with_bounds(self.policy, values[:count])
        at = count + len(self.signature.accumulators)
        owner = values[at : at + bool(self.signature.owner)]
        at += len(owner)
        passed = dict(zip(self.names, values[at:], strict=False))  # constants follow
        return self.told(error, policy, owner, passed)


def _is_known(value: Any) -> bool:
    return isinstance(value, Future) and value.is_known


def _with_bounds(policy: Policy, bounds: Sequence[int]) -> Policy:
    """Return a policy of the kind of another one."""
    if isinstance(policy, TeamPolicy):
        return TeamPolicy(bounds[0], policy.team_size)
    left = iter(bounds)
    ranges = [(next(left) if low else 0, next(left)) for low, _ in policy.ranges]
    return MDRangePolicy([low for low, _ in ranges], [high for _, high in ranges])
