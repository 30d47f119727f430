"""Counts the memory traffic of accesses: whole sectors, and turns of local memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, prod
from typing import SupportsIndex

from polygen.inspection.counts.count import known_sizes
from polygen.inspection.counts.count_keys import CountGranularity, MemAccess
from polygen.inspection.counts.executions import group_extents
from polygen.inspection.counts.mem_access_map import get_mem_access_map
from polygen.inspection.counts.trips import Trips
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.expression_values import value_of

_SUBGROUP = 32  # work items that access memory together
_SECTOR = 32  # bytes of global memory that are moved together
_BANKS, _WORD = 32, 4  # of local memory, and the bytes of a word
_Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Traffic:
    """The bytes that accesses move, all work items together.

    Attributes:
        accessed: what work items ask for in global memory.
        mapped: what is in the sectors of global memory that 32 work items ask for together.
        local: what local memory could move in the turns that it needs.
    """

    accessed: int
    mapped: int
    local: int


def traffic_of(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], trips: Trips | None = None
) -> Traffic:
    """Return what accesses move, for given sizes, and iterations of loops that conditions end.

    Raises:
        NotCountable: if data decides.
        MissingArgument, AssumptionViolated: if sizes are missing, or are not as assumed.
    """
    extents = group_extents(kernel)
    workitem = CountGranularity.WORKITEM
    each = get_mem_access_map(kernel, True, count_granularity=workitem, trips=trips)
    accessed, mapped, local = 0, Fraction(), Fraction()
    for key, count in each.items():
        number, size = count.at(sizes), int(key.dtype.itemsize)
        if key.mtype == "local":
            local += number * _turn_bytes(_places(kernel, key, extents, sizes), size)
            continue
        accessed += number * size
        if prod(extents) == 1:
            mapped += number * size
            continue
        mapped += number * _sector_bytes(_places(kernel, key, extents, sizes), size)
    return Traffic(accessed, ceil(mapped), ceil(local))


def _sector_bytes(places: list[int] | None, size: int) -> Fraction:
    """Return how many bytes of sectors an access is, of those that are made together."""
    if places is None:  # anywhere: each in sectors of its own
        return Fraction(-(-size // _SECTOR) * _SECTOR)
    sectors = {
        byte // _SECTOR for place in places for byte in (place * size, (place + 1) * size - 1)
    }
    return Fraction(_SECTOR * len(sectors), len(places))


def _turn_bytes(places: list[int] | None, size: int) -> Fraction:
    """Return how many bytes local memory could move while it serves an access."""
    if places is None:
        return Fraction(_BANKS * _WORD)
    words = {
        word
        for place in places
        for word in range(place * size // _WORD, -(-(place + 1) * size // _WORD))
    }
    turns = max(Counter(word % _BANKS for word in words).values())
    return Fraction(_BANKS * _WORD * turns, len(places))


def _places(
    kernel: Kernel, key: MemAccess, extents: _Extents, sizes: Mapping[str, SupportsIndex]
) -> list[int] | None:
    """Return which elements those work items access that do it together; None if not known.

    The first of them is 0: where a sector begins.
    """
    strides = [0, 0, 0]
    for axis, stride in (key.lid_strides or {}).items():
        if stride is None:
            return None
        known = known_sizes(kernel, walk.free_variables(stride), sizes)
        strides[axis] = value_of(stride, known)
    items = [sum(k * s for k, s in zip(item, strides, strict=True)) for item in _together(extents)]
    first = min(items)
    return [place - first + lane for place in items for lane in range(key.lanes or 1)]


def _together(extents: _Extents) -> Iterator[tuple[int, int, int]]:
    """Yield the first work items of a group, as many as access memory together."""
    numbered = product(*(range(extent) for extent in reversed(extents)))
    for _, (z, y, x) in zip(range(_SUBGROUP), numbered, strict=False):
        yield x, y, z
