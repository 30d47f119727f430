"""Decides whether two elements of an array share a place in memory."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

Index = tuple[int, ...]


def find_overlap(shape: Sequence[int], strides: Sequence[int]) -> tuple[Index, Index] | None:
    """Return two elements that lie in one place; None if there are none.

    Parameters:
        shape: the extents.
        strides: how far neighbours along each axis are apart, in any direction.
    """
    if 0 in shape:
        return None
    axes = [axis for axis, extent in enumerate(shape) if extent > 1]
    if _are_nested([(abs(strides[axis]), shape[axis]) for axis in axes]):
        return None
    steps = _steps_back(axes, shape, strides)
    if steps is None:
        return None
    # From the element as far back as is needed along each axis, so many steps on.
    first = tuple([max(0, -step) for step in steps])
    return first, tuple([start + step for start, step in zip(first, steps, strict=True)])


def _are_nested(axes: Sequence[tuple[int, int]]) -> bool:
    """Tell whether each stride is more than all smaller ones reach: then no two elements meet."""
    reach = 0
    for stride, extent in sorted(axes):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def _steps_back(
    axes: Sequence[int], shape: Sequence[int], strides: Sequence[int]
) -> list[int] | None:
    """Return steps along the axes that lead to another element in the same place, or None."""
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[f"d{axis}" for axis in axes])
    same = isl.BasicSet.universe(space)
    place = isl.Constraint.equality_alloc(isl.LocalSpace.from_space(space))
    for position, axis in enumerate(axes):
        place = place.set_coefficient_val(isl.dim_type.set, position, strides[axis])
        same = same.lower_bound_val(isl.dim_type.set, position, 1 - shape[axis])
        same = same.upper_bound_val(isl.dim_type.set, position, shape[axis] - 1)
    others = isl.Set(same.add_constraint(place)).subtract(isl.Set.from_point(isl.Point.zero(space)))
    if others.is_empty():
        return None
    point = others.sample_point()
    steps = [0] * len(shape)
    for position, axis in enumerate(axes):
        steps[axis] = point.get_coordinate_val(isl.dim_type.set, position).to_python()
    return steps
