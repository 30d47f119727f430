"""Which values inames take: the projection of the loop domains, point by point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import islpy as isl

from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import OracleLimitError

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_Rows = dict[tuple[int, ...], list[tuple[int, ...]]]


class Points:
    """Enumerates the values of inames.

    Parameters:
        kernel: the kernel.
        sizes: the value of each parameter.
        temporary: returns the present value of a scalar temporary that a domain mentions.
    """

    def __init__(
        self, kernel: Kernel, sizes: Mapping[str, int], temporary: Callable[[str], int]
    ) -> None:
        self._kernel = kernel
        self._sizes = sizes
        self._temporary = temporary
        self._tables: dict[object, _Rows] = {}

    def values(
        self, inames: frozenset[str], wanted: tuple[str, ...], fixed: Mapping[str, int]
    ) -> list[tuple[int, ...]]:
        """Return the values of `wanted` where the others have those of `fixed`, ascending.

        Parameters:
            inames: those of the instruction, reductions included: the rest is projected out.
            wanted: some of these.
            fixed: the values of others.
        """
        given = tuple(sorted(inames.intersection(fixed).difference(wanted)))
        homes = {self._kernel.home_domains[i].text: i for i in (*given, *wanted)}
        mentioned = {
            name
            for iname in homes.values()
            for name in self._kernel.home_domains[iname].parameters
            if isinstance(self._kernel.variables.get(name), TemporaryVariable)
        }
        known = {name: self._temporary(name) for name in sorted(mentioned)}
        key = (inames, given, wanted, tuple(known.items()))
        if key not in self._tables:
            self._tables[key] = self._table(inames, given, wanted, known)
        return self._tables[key].get(tuple(fixed[i] for i in given), [])

    def _table(
        self,
        inames: frozenset[str],
        given: tuple[str, ...],
        wanted: tuple[str, ...],
        known: Mapping[str, int],
    ) -> _Rows:
        flat = self._domain(inames, known)
        names = (*given, *wanted)
        flat = project_out(flat, set(flat_names(flat)).difference(names))
        rows: _Rows = {}
        for point in _points(unflatten(flat, names)):
            rows.setdefault(point[: len(given)], []).append(point[len(given) :])
        for row in rows.values():
            row.sort()
        return rows

    def _domain(self, inames: frozenset[str], known: Mapping[str, int]) -> isl.Set:
        """Return the values of inames, and of scalars in their bounds that are not known."""
        flat = isl.Set("{ : }")
        for domain in self._kernel.domains:
            if inames.intersection(domain.inames):
                flat = flat.intersect(domain.flat)
        values = {**self._sizes, **known}
        for position, name in enumerate(flat_names(flat)):
            if name in values:
                flat = flat.fix_val(_PARAM, position, isl.Val(int(values[name])))
        return flat

    def first(self, iname: str) -> int:
        """Return the smallest value that an iname ever takes, whatever data is; 0 if none."""
        inames = frozenset((iname, *surrounding(self._kernel, iname)))
        flat = self._domain(inames, {})
        values = unflatten(project_out(flat, set(flat_names(flat)).difference((iname,))), (iname,))
        if values.is_empty():
            return 0
        least = values.dim_min_val(0)
        if not least.is_int():
            raise OracleLimitError(f"'{iname}' has no smallest value that is known beforehand")
        return int(least.to_python())


def _points(isl_set: isl.Set) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []

    def note(point: isl.Point) -> None:
        coordinates = (point.get_coordinate_val(_SET, p) for p in range(isl_set.dim(_SET)))
        found.append(tuple([c.to_python() for c in coordinates]))

    if not isl_set.is_bounded():
        raise OracleLimitError(f"what bounds {isl_set} is not known yet")
    try:
        isl_set.foreach_point(note)
    except isl.Error as error:
        if "unexpected missing (bounded) solution" not in str(error):  # which isl 0.27 may say
            raise
        return [*_points_in_box(isl_set)]
    return found


def _points_in_box(isl_set: isl.Set) -> Iterator[tuple[int, ...]]:
    """Yield the points of a set, one of the box around it after the other."""
    ranges: list[range] = []
    for axis in range(isl_set.dim(_SET)):
        ends = isl_set.dim_min_val(axis), isl_set.dim_max_val(axis)
        ranges.append(range(ends[0].to_python(), ends[1].to_python() + 1))
    for point in product(*ranges):
        left = isl_set
        for axis, value in enumerate(point):
            left = left.fix_val(_SET, axis, isl.Val(value))
        if not left.is_empty():
            yield point


def surrounding(kernel: Kernel, iname: str) -> frozenset[str]:
    """Return the inames whose loops have to be outside of `iname`'s, because of domains."""
    found: set[str] = set()
    pending = [iname]
    while pending:
        for name in kernel.home_domains[pending.pop()].parameters:
            needed = {name} if name in kernel.home_domains else set()
            if isinstance(kernel.variables.get(name), TemporaryVariable):
                needed.update(*(w.within_inames for w in kernel.writers.get(name, ())))
            pending += sorted(needed - found)
            found |= needed
    return frozenset(found)
