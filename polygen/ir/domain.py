"""Loop domains: integer sets with named dimensions, as values.

isl does the arithmetic.  What this adds: equality and hash that suit a kernel's, pickling, and a
*flat* form in which inames are parameters too, so that sets over different inames can be combined
by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import islpy as isl

from polygen.ir.cached import cached_property

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set


class Domain:
    """A set of values of some inames, which may depend on parameters.

    Attributes:
        set: the isl set; all its dimensions are named.  Without any, it is isl's set of parameters:
            sets in that space and in the one of tuples without entries cannot be combined.
        inames: the names of its dimensions, in order.
        parameters: the names of its parameters, sorted.
    """

    __slots__ = ("__dict__", "_hash", "inames", "parameters", "set")

    def __init__(self, isl_set: isl.Set) -> None:
        self.inames: tuple[str, ...] = _names(isl_set, _SET)
        self.set = isl_set if self.inames else isl_set.params()
        self.parameters: tuple[str, ...] = tuple(sorted(_names(isl_set, _PARAM)))
        self._hash = hash((self.inames, self.parameters))

    @cached_property
    def flat(self) -> isl.Set:
        """The same set with every iname as a parameter: ``[n, i] -> { : 0 <= i < n }``."""
        return flatten(self.set)

    @cached_property
    def text(self) -> str:
        """The set in isl's notation."""
        text: str = self.set.to_str()
        return text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Domain({self.text!r})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Domain):
            return NotImplemented
        return (
            self.inames == other.inames
            and self.parameters == other.parameters
            and (self.text == other.text or self.set.is_equal(other.set))
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return (parse_domain, (self.text,))


def parse_domain(text: str) -> Domain:
    """Return the domain that isl reads from `text`, which is known to be well formed."""
    return Domain(isl.Set(text))


def _names(isl_set: isl.Set | isl.BasicSet, kind: isl.dim_type) -> tuple[str, ...]:
    # Not get_var_names, which tries to remember them, and takes twice as long.
    return tuple([isl_set.get_dim_name(kind, at) or "" for at in range(isl_set.dim(kind))])


def flatten(isl_set: isl.Set) -> isl.Set:
    """Return `isl_set` with its named dimensions turned into parameters."""
    count = isl_set.dim(_SET)
    if count:
        isl_set = isl_set.move_dims(_PARAM, isl_set.dim(_PARAM), _SET, 0, count)
    return isl_set.params()


def unflatten(flat: isl.Set, inames: Iterable[str]) -> isl.Set:
    """Return the flat set with the named parameters turned into dimensions, in this order."""
    result = isl.Set.from_params(flat)
    for position, iname in enumerate(inames):
        source = result.find_dim_by_name(_PARAM, iname)
        if source < 0:
            result = result.add_dims(_SET, 1).set_dim_name(_SET, position, iname)
        else:
            result = result.move_dims(_SET, position, _PARAM, source, 1)
    return result


def flat_names(flat: isl.Set | isl.BasicSet) -> tuple[str, ...]:
    """Return the names of the parameters of a flat set, or of a piece of one."""
    return _names(flat, _PARAM)


def project_out(flat: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return the flat set without the named dimensions: for some value of them."""
    positions = {flat.find_dim_by_name(_PARAM, name) for name in names} - {-1}
    for last in sorted(positions, reverse=True):
        if last + 1 not in positions:  # neighbours go at once, which is cheaper
            first = last
            while first - 1 in positions:
                first -= 1
            flat = flat.project_out(_PARAM, first, last - first + 1)
    return flat


def without_constraints_on(flat: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return the flat set without the constraints that mention some dimensions."""
    for name in names:
        position = flat.find_dim_by_name(_PARAM, name)
        if position >= 0:
            flat = flat.drop_constraints_involving_dims(_PARAM, position, 1)
    return flat


def intersection(first: isl.Set, second: isl.Set) -> isl.Set:
    """Return what is in both of two sets, which are flat or have the same dimensions.

    isl's own also looks whether that is empty, which takes eight times as long.
    """
    pieces = _aligned(first, second)
    if pieces is None:
        return first.intersect(second)
    some, others = pieces
    return some.intersect(others).to_set()


def restricted(values: isl.Set, flat: isl.Set) -> isl.Set:
    """Return the values of a set with dimensions where its parameters are in a flat set.

    What isl's ``intersect_params`` does, without a look whether there are any.
    """
    pieces = _aligned(values, flat)
    if pieces is None:
        return values.intersect_params(flat)
    some, others = pieces
    return some.intersect_params(others).to_set()


def _aligned(first: isl.Set, second: isl.Set) -> tuple[isl.BasicSet, isl.BasicSet] | None:
    """Return the only pieces of two sets with the same parameters; None if there are others."""
    if first.n_basic_set() != 1 or second.n_basic_set() != 1:
        return None
    first = first.align_params(second.get_space())
    some, others = first.get_basic_sets(), second.get_basic_sets()
    if len(some) != 1 or len(others) != 1:  # isl has seen that a piece is empty
        return None
    return some[0], others[0].align_params(first.get_space())


def same_points(first: isl.Set, second: isl.Set) -> bool:
    """Tell whether two flat sets are equal: most often, they are so at once."""
    aligned = second.align_params(first.get_space())
    return bool(first.plain_is_equal(aligned) or first.is_equal(second))


def rename_dimension(isl_set: isl.Set, old: str, new: str) -> isl.Set:
    """Return `isl_set` with the dimension or parameter `old` called `new`."""
    for kind in (_SET, _PARAM):
        position = isl_set.find_dim_by_name(kind, old)
        if position >= 0:
            isl_set = isl_set.set_dim_name(kind, position, new)
    return isl_set


def with_duplicates(domain: Domain, renamed: Mapping[str, str]) -> tuple[Domain, ...]:
    """Return a domain with new inames beside some of the old ones, with the same values.

    Where all of its inames are duplicated, that is a second domain.

    Parameters:
        domain: any domain.
        renamed: the new iname for each of the old ones, whether the domain has these or not.
    """
    olds = [i for i in domain.inames if i in renamed]
    if not olds:
        return (domain,)
    copy = domain.flat
    for old in (*olds, *(p for p in domain.parameters if p in renamed)):
        copy = rename_dimension(copy, old, renamed[old])
    if len(olds) == len(domain.inames):
        return domain, Domain(unflatten(copy, [renamed[i] for i in olds]))
    inames = [n for i in domain.inames for n in ((i, renamed[i]) if i in olds else (i,))]
    return (Domain(unflatten(domain.flat.intersect(copy), inames)),)


def universe() -> isl.Set:
    """Return the flat set without any constraint."""
    return _UNIVERSE


_UNIVERSE = isl.Set("{ : }")
