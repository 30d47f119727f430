"""The points of flat sets that are bounded once sizes are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polygen.analysis.integers.second_instance import OTHER
from polygen.ir.domain import unflatten


def enumerated(
    flat: isl.Set, names: Sequence[str], sizes: Mapping[str, int]
) -> set[tuple[int, ...]]:
    """Return all points of a flat set over these names, for the given sizes."""
    for name, value in sizes.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(value))
            flat = flat.project_out(isl.dim_type.param, position, 1)
    whole = unflatten(flat, names)
    assert whole.dim(isl.dim_type.param) == 0, f"{flat} is not over {names}"
    found: list[isl.Point] = []
    whole.foreach_point(found.append)
    return {tuple(_coordinate(point, p) for p in range(len(names))) for point in found}


def both(inames: Sequence[str]) -> list[str]:
    """Return the names of the inames of a first and of a second instance."""
    return [*inames, *(iname + OTHER for iname in inames)]


def _coordinate(point: isl.Point, position: int) -> int:
    value: int = point.get_coordinate_val(isl.dim_type.set, position).to_python()
    return value
