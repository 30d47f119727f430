"""Arguments that are several arrays: those with axes tagged ``sep``."""

from __future__ import annotations

from dataclasses import replace

from polygen.ir.array import Array, GlobalArg
from polygen.ir.layout import Separate, length_of


def is_separate(array: Array) -> bool:
    """Tell whether an array consists of several."""
    return array.dim_tags is not None and any(isinstance(t, Separate) for t in array.dim_tags)


def part_name(name: str, index: tuple[int, ...]) -> str:
    """Return what a part of an array is called: ``a_s0`` for the first of ``a``."""
    return "_".join([name, *(f"s{i}" for i in index)])


def parts(array: GlobalArg) -> tuple[GlobalArg, ...]:
    """Return the arrays that an argument consists of: itself, unless axes are tagged ``sep``."""
    if not is_separate(array):
        return (array,)
    tags, shape = array.dim_tags or (), array.shape or ()
    kept = [axis for axis, tag in enumerate(tags) if not isinstance(tag, Separate)]
    names = array.dim_names
    plain = replace(
        array,
        shape=tuple([shape[axis] for axis in kept]),
        dim_tags=tuple([tags[axis] for axis in kept]),
        dim_names=None if names is None else tuple([names[axis] for axis in kept]),
    )
    return tuple([replace(plain, name=part_name(array.name, i)) for i in part_indices(array)])


def part_indices(array: GlobalArg) -> list[tuple[int, ...]]:
    """Return the subscripts, along the axes tagged ``sep``, of an argument's parts, in order."""
    lengths = [
        length_of(array, axis)
        for axis, tag in enumerate(array.dim_tags or ())
        if isinstance(tag, Separate)
    ]
    found: list[tuple[int, ...]] = [()]
    for length in lengths:
        found = [(*index, i) for index in found for i in range(length)]
    return found
