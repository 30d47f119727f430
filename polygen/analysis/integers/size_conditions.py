"""Conditions on sizes and scalars: they print, can be asked for values, and become assumptions.

    [n, k] -> { : k >= n or k = 0 }      prints as "n <= k or k == 0"; holds(n=3, k=0)

A condition is seen within what is known of a kernel's parameters: it is always true if it is for
all values that these may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import islpy as isl

from polygen.analysis.integers.isl_affine import set_condition
from polygen.errors import MissingArgument
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain, flat_names, intersection
from polygen.source import caller_location


class SizeCondition:
    """A condition on the parameters of a kernel.

    Attributes:
        allowed: the values of the parameters for which it holds, as an isl set without dimensions.
        known: what is known of the parameters anyway.
    """

    def __init__(self, allowed: isl.Set, known: isl.Set) -> None:
        self.known = known
        self.allowed = _simplified(allowed, known)

    @cached_property
    def is_always(self) -> bool:
        """Whether it holds for all values that the parameters may have."""
        return bool(self.known.is_subset(self.allowed))

    @cached_property
    def is_never(self) -> bool:
        """Whether it holds for none of these."""
        return bool(self.known.is_disjoint(self.allowed))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters that it mentions, sorted."""
        return tuple(sorted(flat_names(self.allowed)))

    @property
    def text(self) -> str:
        """The condition in the notation of `polygen.assume`."""
        return Domain(self.allowed).text

    def holds(self, **values: int) -> bool:
        """Tell whether it holds for values of the parameters.

        Parameters:
            values: one for each parameter that it mentions; others are ignored.

        Raises:
            MissingArgument: if a parameter that it mentions has no value.
        """
        return self.among(values)

    def among(self, values: Mapping[str, int]) -> bool:
        """Tell whether it holds for the values in a mapping: `holds`, without keywords."""
        try:
            return self.predicate(values)
        except KeyError:
            missing = next(name for name in self.names if name not in values)
            raise MissingArgument(
                f"the condition '{self}' was asked without a value of '{missing}'",
                where=caller_location(),
                remedy=f"pass {missing}=...",
            ) from None

    @cached_property
    def predicate(self) -> Callable[[Mapping[str, int]], bool]:
        """A Python function of a mapping from names to integers; it takes about a microsecond."""
        return compiled_condition(self.allowed)

    def __and__(self, other: SizeCondition) -> SizeCondition:
        return SizeCondition(intersection(self.allowed, other.allowed), self.known)

    def __or__(self, other: SizeCondition) -> SizeCondition:
        return SizeCondition(self.allowed.union(other.allowed), self.known)

    def __invert__(self) -> SizeCondition:
        return SizeCondition(self.known.subtract(self.allowed), self.known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SizeCondition):
            return NotImplemented
        return bool(
            self.known.is_equal(other.known)
            and self.known.intersect(self.allowed).is_equal(other.known.intersect(other.allowed))
        )

    def __hash__(self) -> int:
        return hash(tuple(sorted(flat_names(self.known))))

    def __str__(self) -> str:
        if self.is_always:
            return "always"
        return "never" if self.is_never else str(set_condition(self.allowed))

    def __repr__(self) -> str:
        return f"SizeCondition({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_read, (self.allowed.to_str(), self.known.to_str()))


def compiled_condition(allowed: isl.Set) -> Callable[[Mapping[str, int]], bool]:
    """Return a Python function that tells whether values of parameters are in a flat set.

    Parameters:
        allowed: the set.

    Returns:
        A function of a mapping from names to integers, which may hold others, too.
    """
    names = sorted(flat_names(allowed))
    short = {
        name: f"v{number}" for number, name in enumerate(names)
    }  # Python may have taken others
    for position in range(allowed.dim(isl.dim_type.param)):
        name = allowed.get_dim_name(isl.dim_type.param, position) or ""
        allowed = allowed.set_dim_name(isl.dim_type.param, position, short[name])
    lines = [f"    {short[name]} = _values[{name!r}]" for name in names]
    source = "\n".join(
        ["def condition(_values):", *lines, f"    return {set_condition(allowed)}", ""]
    )
    made: dict[str, Any] = {}
    exec(compile(source, "<condition>", "exec"), made)  # noqa: S102  (names and numbers of isl's)
    found: Callable[[Mapping[str, int]], bool] = made["condition"]
    return found


def _simplified(allowed: isl.Set, known: isl.Set) -> isl.Set:
    """Return the set with few constraints that agrees with another where that is known."""
    direct = allowed.gist(known).coalesce()
    excluded = known.subtract(allowed).gist(known).coalesce()
    forms = [
        _with_fewer(form, allowed, known).drop_unused_params()
        for form in (direct, excluded.complement().coalesce())
    ]
    return min(forms, key=_size)


_MOST_TRIED = 60


def _with_fewer(form: isl.Set, allowed: isl.Set, known: isl.Set) -> isl.Set:
    """Return a set without constraints, and without pieces, that its union does not need.

    What is left of ``n <= k and k >= 1 or k = 0`` is ``n <= k or k = 0``, if it is known that n is
    not negative.
    """
    pieces = list(form.get_basic_sets())
    if _size(form)[1] > _MOST_TRIED:
        return form
    wide = [_widened(piece, allowed, known) for piece in pieces]
    for piece in tuple(wide):
        others = [other for other in wide if other is not piece]
        covered = reduce(isl.Set.union, (o.to_set() for o in others), form.subtract(form))
        if others and known.intersect(piece.to_set()).is_subset(covered):
            wide = others
    return reduce(isl.Set.union, (p.to_set() for p in wide), form.subtract(form)).coalesce()


def _widened(piece: isl.BasicSet, allowed: isl.Set, known: isl.Set) -> isl.BasicSet:
    """Return a piece without the constraints that need not be said."""
    kept = list(piece.get_constraints())
    if any(c.is_div_constraint() for c in kept) or piece.dim(isl.dim_type.div):
        return piece
    for constraint in tuple(kept):
        others = [c for c in kept if c is not constraint]
        wider = isl.BasicSet.universe(piece.get_space())
        for other in others:
            wider = wider.add_constraint(other)
        if known.intersect(wider.to_set()).is_subset(allowed):
            kept, piece = others, wider
    return piece


def _size(allowed: isl.Set) -> tuple[int, int]:
    pieces = allowed.get_basic_sets()
    constraints = [c for piece in pieces for c in piece.get_constraints()]
    return (len(pieces), sum(1 + c.is_equality() for c in constraints))


def _read(allowed: str, known: str) -> SizeCondition:
    found = SizeCondition.__new__(SizeCondition)
    found.allowed, found.known = isl.Set(allowed).params(), isl.Set(known).params()
    return found
