"""Instances of instructions as the rows of a table, once sizes and data are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl
import numpy as np

from polygen.analysis.access.domains import domain_of, surrounding_inames
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set, set_condition
from polygen.ir.domain import project_out
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.runtime.claims.instance_values import Column, NotKnown, Rows, Values
from polygen.runtime.claims.loop_ends import inames_by_ends

_MOST_ROWS = 1_000_000_000
_AT_ONCE = 20_000_000
_BLOCK = 1_000_000


class TooMany(Exception):
    """There are more instances than can be looked at: the message says how many can be."""


class Instances:
    """The points of loop domains at which conditions hold.

    Parameters:
        kernel: the kernel.
        inames: those of an instruction, and of a reduction in it.
        conditions: what has to hold.
        values: evaluates what bounds and conditions mention.

    All methods raise:
        NotKnown: if the kernel computes bounds or conditions.
        TooMany: if there are too many points.
        Outside: if bounds or conditions need an element that does not exist.
    """

    def __init__(
        self,
        kernel: Kernel,
        inames: frozenset[str],
        conditions: Sequence[Expression],
        values: Values,
    ) -> None:
        self._kernel, self._values = kernel, values
        self._inames = _outermost_first(kernel, inames)
        self._points = domain_of(kernel, inames)
        self._conditions: list[Expression] = []
        names = inames | integer_parameters(kernel)
        for condition in conditions:
            known = condition_set(condition, names)
            if known is None or known.n_basic_set() != 1:
                self._conditions.append(condition)
            else:
                self._points = self._points.intersect(known)
        self._projected = [
            project_out(self._points, self._inames[number + 1 :])
            for number in range(len(self._inames))
        ]

    def all_at_once(self) -> Rows:
        """Return all points."""
        nothing = Rows(0, dict.fromkeys(self._inames, np.zeros(0, np.int64)))
        rows = [nothing, *self._blocks(_AT_ONCE, {})]
        columns = {i: np.concatenate([r.columns[i] for r in rows]) for i in self._inames}
        return Rows(sum(r.count for r in rows), columns)

    def deciding(self, index: Sequence[Expression]) -> Iterator[tuple[Rows, frozenset[str]]]:
        """Yield those points, in blocks, that decide between which numbers subscripts are.

        With the inames that have the first and the last of their values there, instead of all.
        """
        expressions = (index, self._conditions)
        if self._points.is_empty():
            return
        ends = inames_by_ends(self._kernel, self._inames, self._projected, expressions)
        for rows in self._blocks(_MOST_ROWS, ends):
            yield rows, frozenset(ends)

    def _blocks(self, most: int, ends: Mapping[str, int]) -> Iterator[Rows]:
        if self._points.is_empty():
            return
        inside, left = set_condition(self._points), most
        for block in self._with_inames(Rows(1, {}), 0, most, ends):
            left -= block.count
            if left < 0:
                raise TooMany(f"{most:,}")
            rows = self._values.where(inside, block, integers=True)
            for condition in self._conditions:
                rows = self._values.where(condition, rows)
            yield rows

    def _with_inames(
        self, rows: Rows, number: int, most: int, ends: Mapping[str, int]
    ) -> Iterator[Rows]:
        """Yield rows, each once for all values that the inames from this one on may have."""
        if number == len(self._inames):
            yield rows
            return
        iname, points = self._inames[number], self._projected[number]
        lower, upper = (_bound(points, iname, self._values, rows, upper=x) for x in (False, True))
        for block in _with_iname(rows, iname, (lower, upper), most, ends.get(iname)):
            yield from self._with_inames(block, number + 1, most, ends)


def _outermost_first(kernel: Kernel, inames: frozenset[str]) -> list[str]:
    """Sort inames so that each comes after those that its bounds mention."""
    return sorted(
        (iname for iname in kernel.inames if iname in inames),
        key=lambda iname: len(surrounding_inames(kernel, iname)),
    )


def _with_iname(
    rows: Rows, iname: str, bounds: tuple[Column, Column], most: int, ends: int | None
) -> Iterator[Rows]:
    """Yield the rows, each once for every value that an iname may have beside the others.

    Parameters:
        rows: the rows.
        iname: the iname.
        bounds: the least and the largest value in each row.
        most: how many rows there may be.
        ends: if not None, so many values at either end are wanted alone.
    """
    lower, upper = bounds
    counts = np.where(lower <= upper, upper.astype(np.float64) - lower + 1, 0.0)
    if ends is not None:
        counts = np.minimum(counts, 2 * ends)
    if counts.sum() > most:  # as a float: as an integer, it might wrap around
        raise TooMany(f"{most:,}")
    counts = counts.astype(np.int64)
    until: Column = np.cumsum(counts)
    for first in range(0, int(counts.sum()), _BLOCK):
        places: Column = np.arange(first, min(first + _BLOCK, until[-1]))
        source = np.searchsorted(until, places, side="right")
        value = lower[source] + places - (until - counts)[source]
        if ends is not None:
            left = until[source] - 1 - places
            value = np.where(left < ends, upper[source] - left, value)
        found = rows.take(source)
        yield Rows(len(places), {**found.columns, iname: value})


def _bound(domain: isl.Set, iname: str, values: Values, rows: Rows, *, upper: bool) -> Column:
    """Return what an iname is at most, or at least, for each row."""
    found: list[Column] = []
    for part in domain.get_basic_sets():
        bounds = [
            column // -factor if upper else -(column // factor)
            for factor, rest in _constraints(part.remove_divs(), iname)
            if (factor < 0) is upper
            for column in (values.column(rest.expression(), rows).astype(np.int64),)
        ]
        if not bounds:
            raise NotKnown(f"the bounds of {iname}")
        found.append((np.minimum if upper else np.maximum).reduce(bounds))
    bound: Column = (np.maximum if upper else np.minimum).reduce(found)
    return bound


def _constraints(part: isl.BasicSet, iname: str) -> Iterator[tuple[int, LinearForm]]:
    """Yield pairs of which ``factor*iname + rest`` is not negative."""
    for constraint in constraint_forms(part, iname):
        form = constraint.form
        factor = form.terms.get(iname, 0)
        rest = form - LinearForm(0, {iname: factor}) if factor else form
        if factor:
            yield factor, rest
            if constraint.is_equality:
                yield -factor, -rest
