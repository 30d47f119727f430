"""Flat sets as what they are sets of: points with small coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

import islpy as isl

from polygen.ir.domain import flat_names, unflatten

SMALL = range(-2, 8)


def points(
    flat: isl.Set, names: Sequence[str], values: Iterable[int] = SMALL
) -> set[tuple[int, ...]]:
    """Return the points of a flat set over these names, as far as they are small."""
    whole = unflatten(flat, names)
    assert whole.dim(isl.dim_type.param) == 0, f"{flat} is not over {names}"
    found: set[tuple[int, ...]] = set()
    for point in product(tuple(values), repeat=len(names)):
        text = ", ".join(map(str, point))
        if not whole.intersect(isl.Set(f"{{ [{text}] }}")).is_empty():
            found.add(point)
    return found


def where(
    holds: Callable[..., bool], count: int, values: Iterable[int] = SMALL
) -> set[tuple[int, ...]]:
    """Return the small points for which something holds."""
    return {point for point in product(tuple(values), repeat=count) if holds(*point)}


def contains(flat: isl.Set, point: Mapping[str, int]) -> bool:
    """Tell whether a flat set holds at a point, which has a value for each of its names."""
    for position, name in enumerate(flat_names(flat)):
        flat = flat.fix_val(isl.dim_type.param, position, isl.Val(point[name]))
    return not flat.is_empty()
