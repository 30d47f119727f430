"""Matches the pieces of two bags."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from polygen.analysis.dataflow.comparison_context import equal_set
from polygen.analysis.equality.bag import Factor, Loops, Piece
from polygen.analysis.equality.compared_values import (
    Value,
    in_names,
    is_function,
    onto,
    own_names,
    without,
)
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import universe

_MOST_FACTORS = 6
_LATER = "_later"

Same = Callable[[Value, Value, isl.Set], isl.Set]


class Matching:
    """Finds which pieces are the same.

    Parameters:
        same: returns at which points two values are proved to be the same.
    """

    def __init__(self, same: Same) -> None:
        self._same = same

    def same(self, first: Sequence[Piece], second: Sequence[Piece], points: isl.Set) -> isl.Set:
        """Return those of some points at which two bags are proved to hold the same.

        That is so where each value of each piece of one is paired with one of the other, and each
        of that with one of this.
        """
        left = [[piece.where for piece in pieces] for pieces in (first, second)]
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                if a.number != b.number or len(a.factors) != len(b.factors):
                    continue
                pairs = left[0][i].intersect(left[1][j])
                if pairs.is_empty():
                    continue
                paired = _one_to_one(
                    self._products(a.factors, b.factors, pairs), sorted(a.bound), sorted(b.bound)
                )
                if paired is None:
                    continue
                left[0][i] = left[0][i].subtract(without(paired, b.bound)).coalesce()
                left[1][j] = left[1][j].subtract(without(paired, a.bound)).coalesce()
        kept = own_names(points)
        for rest in (*left[0], *left[1]):
            points = points.subtract(onto(rest, kept))
        return points

    def same_in_order(self, first: Loops, second: Loops, points: isl.Set) -> isl.Set:
        """Return those of some points at which two reductions combine the same, in one order."""
        if not (first.is_ordered and second.is_ordered):
            return isl.Set.empty(points.get_space())
        pairs = self._same(first.value, second.value, first.where.intersect(second.where))
        found = _one_to_one(pairs, first.names, second.names)
        if found is None:
            found = pairs.subtract(pairs)  # none: then both have to be sums of nothing
        kept = own_names(points)
        for loops, others in ((first, second.names), (second, first.names)):
            rest = loops.where.subtract(without(found, others))
            points = points.subtract(onto(rest, kept))
        return points.subtract(onto(_turned(found, first.names, second.names), kept))

    def _products(
        self, first: Sequence[Factor], second: Sequence[Factor], points: isl.Set
    ) -> isl.Set:
        """Return where two products have the same factors, in whatever order."""
        if not first:
            return points
        if len(first) > _MOST_FACTORS or points.is_empty():
            return isl.Set.empty(points.get_space())
        found = isl.Set.empty(points.get_space())
        left = points
        for position, factor in enumerate(second):
            if factor.divides != first[0].divides:
                continue
            held = self._same(first[0].value, factor.value, left)
            if held.is_empty():
                continue
            others = (*second[:position], *second[position + 1 :])
            found = found.union(self._products(first[1:], others, held))
            if points.is_subset(found):
                break
        return found


def _one_to_one(pairs: isl.Set, first: Sequence[str], second: Sequence[str]) -> isl.Set | None:
    """Return pairs of which none has a part in common with another; None if none are found.

    Parameters:
        pairs: the pairs.
        first, second: the names that tell the parts of each bag.
    """
    if pairs.is_empty():
        return None
    if not _is_one_to_one(pairs, first, second):
        pairs = _narrowed(pairs, first, second)
        if not _is_one_to_one(pairs, first, second):
            return None
    return pairs


def _turned(pairs: isl.Set, first: Sequence[str], second: Sequence[str]) -> isl.Set:
    """Return pairs after which, in the order of the first, one follows that is before in the other.

    Parameters:
        pairs: the pairs, one to one.
        first, second: the names of the loops, outermost first.
    """
    later = in_names(pairs, {name: name + _LATER for name in (*first, *second)})
    both = pairs.intersect(later)
    return both.intersect(_before(first)).subtract(_before(second))


def _before(names: Sequence[str]) -> isl.Set:
    """Return where names come before those that are later, in lexicographic order."""
    found, same = universe().complement(), universe()
    for name in names:
        here, there = ex.Variable(name), ex.Variable(name + _LATER)
        less = condition_set(ex.Comparison(here, "<", there))
        assert less is not None
        found = found.union(same.intersect(less))
        same = same.intersect(equal_set(here, there))
    return found


def _is_one_to_one(pairs: isl.Set, first: Sequence[str], second: Sequence[str]) -> bool:
    return is_function(pairs, first) and is_function(pairs, second)


def _narrowed(pairs: isl.Set, first: Sequence[str], second: Sequence[str]) -> isl.Set:
    """Return pairs in which names that the others leave open are equal, if that loses no part.

    Parts that do not depend on a loop are the same in all of its iterations: then the first is
    paired with the first, and so on.
    """
    for a in first:
        rest = without(pairs, [name for name in first if name != a])
        if is_function(rest, [a]):
            continue
        for b in sorted(second, key=lambda name: _iname(name) != _iname(a)):
            equal = pairs.intersect(equal_set(ex.Variable(a), ex.Variable(b)))
            if all(
                without(equal, names).is_equal(without(pairs, names)) for names in (first, second)
            ):
                pairs = equal
                break
    return pairs


def _iname(name: str) -> str:
    """Return the iname that a name of an instance is that of."""
    return name.lstrip("_").partition("_")[2]
