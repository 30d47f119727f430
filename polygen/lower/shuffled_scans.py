"""Scans of which sub-groups of work items do parts, by reading each other's registers.

out[i] = sum(j, a[j])   over 0 <= j <= i, with i, from 0 to 255, on l.0, and sub-groups of 32:

    here[i] = a[i]
    taken = here[p]
    taken = here[p - 1] + taken            (if p % 32 >= 1)
    there[p] = taken                       (and so on, with 2, 4, 8 and 16)
    sums[p // 32] = there[p]               (if p % 32 = 31 and p < 224)
    ...                                    (the same for these 7, by the first sub-group)
    taken = sums[p // 32 - 1] + taken      (if p >= 32)
    found[p] = taken
    out[i] = found[i]

All p are on l.0, from 0 to 255.  `here`, `there` and `found` may be in registers.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.reduction import Parts

Group: TypeAlias = tuple[str, ...]  # the arrays of a scan: one for each of its results
Scalars: TypeAlias = tuple[ex.Variable, ...]


class Maker(Protocol):
    """Makes the instructions of a scan."""

    @property
    def extent(self) -> int:
        """The number of work items that share it."""
        raise NotImplementedError

    def axis(self) -> ex.Variable:
        """Return a new iname on the axis, for all work items of a group."""
        raise NotImplementedError

    def arrays(self, count: int | None = None, *, shuffled: bool = False) -> Group:
        """Return new local arrays, of so many elements along the axis, or one a work item."""
        raise NotImplementedError

    def scalars(self, like: str) -> Scalars:
        """Return new private variables."""
        raise NotImplementedError

    def elements(self, group: Group, place: Expression) -> tuple[ex.Subscript, ...]:
        """Return the elements at a place along the axis."""
        raise NotImplementedError

    def both(self, first: Parts, second: Parts) -> Parts:
        """Return what the operation makes of two values."""
        raise NotImplementedError

    def add(
        self,
        kind: str,
        iname: ex.Variable,
        to: tuple[ex.Variable | ex.Subscript, ...],
        values: Parts,
        when: Parts = (),
    ) -> None:
        """Add an instruction that comes after those before it."""
        raise NotImplementedError


def scanned(make: Maker, here: Group, length: int) -> Group:
    """Make the stages; return the arrays in which what was combined is in the end.

    Parameters:
        make: makes them.
        here: what each work item contributes.
        length: how many places in a row are in one sub-group.
    """
    found, taken = _in_segments(make, here, length, make.extent)
    count = -(-make.extent // length) - 1  # of sums that others need
    if count < 1:
        return found
    place, sums = make.axis(), make.arrays(count)
    ends = ex.Comparison(ex.remainder_of(place, length), "==", length - 1)
    needed = (ends, ex.Comparison(place, "<", count * length))
    segment = ex.floor_quotient(place, length)
    make.add("store", place, make.elements(sums, segment), make.elements(found, place), needed)
    if count > 1:
        sums = _sums_before(make, sums, length, count)
    place, result = make.axis(), make.arrays(shuffled=True)
    before = make.elements(sums, ex.sum_of(ex.floor_quotient(place, length), -1))
    later = (ex.Comparison(place, ">=", length),)
    make.add("combine", place, taken, make.both(before, taken), later)
    make.add("pass", place, make.elements(result, place), taken)
    return result


def _sums_before(make: Maker, sums: Group, length: int, count: int) -> Group:
    """Let the first sub-group scan the sums of all; return the arrays of what it found."""
    place, own = make.axis(), make.arrays(shuffled=True)
    first = (ex.Comparison(place, "<", count),)
    make.add("load", place, make.elements(own, place), make.elements(sums, place), first)
    found, _ = _in_segments(make, own, length, count)
    place, result = make.axis(), make.arrays(count)
    first = (ex.Comparison(place, "<", count),)
    make.add("share", place, make.elements(result, place), make.elements(found, place), first)
    return result


def _in_segments(make: Maker, here: Group, length: int, count: int) -> tuple[Group, Scalars]:
    """Scan the first places in segments; return the arrays, and variables, of what is found."""
    there, taken = make.arrays(shuffled=True), make.scalars("taken")

    def among(place: Expression) -> Parts:
        return (ex.Comparison(place, "<", count),) if count < make.extent else ()

    place = make.axis()
    make.add("take", place, taken, make.elements(here, place), among(place))
    distance = 1
    while distance < min(length, count):
        place = make.axis()
        inside = place if count <= length else ex.remainder_of(place, length)
        enough = (ex.Comparison(inside, ">=", distance), *among(place))
        before = make.elements(here, ex.sum_of(place, -distance))
        make.add("combine", place, taken, make.both(before, taken), enough)
        make.add("pass", place, make.elements(there, place), taken, among(place))
        here, there = there, here
        distance *= 2
    return here, taken
