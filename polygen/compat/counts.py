"""Counts, with Loo.py's parameters: for programs of several entry points as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polygen as pg
from polygen.compat._ours import making
from polygen.compat.inspection import entry
from polygen.inspection.counts.count_keys import CountGranularity, Op, Sync
from polygen.inspection.counts.count_map import CountMap
from polygen.inspection.counts.count_map import CountMap as ToCountMap
from polygen.inspection.counts.count_map import CountMap as ToCountPolynomialMap

__all__ = [
    "CountGranularity",
    "MemAccess",
    "Op",
    "Sync",
    "ToCountMap",
    "ToCountPolynomialMap",
    "gather_access_footprint_bytes",
    "gather_access_footprints",
    "get_mem_access_map",
    "get_op_map",
    "get_synchronization_map",
]


@making(pg.MemAccess)
def MemAccess(  # noqa: N802
    mtype: str | None = None,
    dtype: Any = None,
    lid_strides: Mapping[int, Any] | None = None,
    gid_strides: Mapping[int, Any] | None = None,
    direction: str | None = None,
    variable: str | None = None,
    *,
    variable_tags: Any = None,  # noqa: ARG001
    **others: Any,
) -> pg.MemAccess:
    """Return a kind of access; see `polygen.MemAccess`.

    Parameters are those; variables have no tags here, so nothing depends on ``variable_tags``.
    """
    return pg.MemAccess(mtype, dtype, lid_strides, gid_strides, direction, variable, **others)


def get_op_map(
    program: pg.Kernel | pg.TranslationUnit,
    count_redundant_work: bool = False,
    count_within_subscripts: bool = True,
    subgroup_size: int | str | None = None,
    entrypoint: str | None = None,
    within: Any = None,
) -> CountMap[Op]:
    """Return how often arithmetic is done; see `polygen.get_op_map`."""
    knl = entry(program, entrypoint)
    return pg.get_op_map(knl, count_redundant_work, count_within_subscripts, subgroup_size, within)


def get_mem_access_map(
    program: pg.Kernel | pg.TranslationUnit,
    count_redundant_work: bool = False,
    subgroup_size: int | str | None = None,
    entrypoint: str | None = None,
    within: Any = None,
) -> CountMap[pg.MemAccess]:
    """Return how often memory is accessed; see `polygen.get_mem_access_map`."""
    knl = entry(program, entrypoint)
    return pg.get_mem_access_map(knl, count_redundant_work, subgroup_size, within)


def get_synchronization_map(
    program: pg.Kernel | pg.TranslationUnit,
    subgroup_size: int | str | None = None,  # noqa: ARG001
    entrypoint: str | None = None,
) -> CountMap[Sync]:
    """Return how often work items wait; see `polygen.get_synchronization_map`."""
    return pg.get_synchronization_map(entry(program, entrypoint))


def gather_access_footprints(
    program: pg.Kernel | pg.TranslationUnit,
    ignore_uncountable: bool = False,
    entrypoint: str | None = None,
) -> dict[tuple[str, str], Any]:
    """Return which elements are touched; see `polygen.gather_access_footprints`."""
    return pg.gather_access_footprints(entry(program, entrypoint), ignore_uncountable)


def gather_access_footprint_bytes(
    program: pg.Kernel | pg.TranslationUnit, ignore_uncountable: bool = False
) -> dict[tuple[str, str], pg.Count]:
    """Return how many bytes are touched; see `polygen.gather_access_footprint_bytes`."""
    return pg.gather_access_footprint_bytes(entry(program), ignore_uncountable)
