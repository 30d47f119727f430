"""Where the elements of an array lie, found by enumeration, from what the tags of its axes mean."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.layout import Nested, Separate, Strided, Vector
from tests.oracle.evaluate import OracleError


def places(
    array: GlobalArg | TemporaryVariable,
    shape: tuple[int, ...],
    integer: Callable[[Expression], int],
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the subscripts of each element by what generated code has in their place.

    That is an offset, in elements or in vectors, and the subscripts along axes tagged ``vec`` and
    ``sep``.

    Parameters:
        array: the array.
        shape: its extents.
        integer: evaluates strides and offsets.
    """
    tags: Any = array.dim_tags or [Nested(len(shape) - 1 - axis) for axis in range(len(shape))]
    length = [n for n, tag in zip(shape, tags, strict=True) if isinstance(tag, Vector)]
    unit = 4 if length == [3] else sum(length) or 1
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    start = integer(array.offset) if isinstance(array, GlobalArg) else 0  # type: ignore[arg-type]
    for index in product(*map(range, shape)):
        elements = start
        for axis, tag in enumerate(tags):
            if isinstance(tag, Strided):
                elements += index[axis] * integer(tag.stride)  # type: ignore[arg-type]
            elif isinstance(tag, Nested):
                elements += index[axis] * unit * _inside(shape, tags, tag.level)
        if elements % unit:
            raise OracleError(f"{array.name}{list(index)} begins in the middle of a vector")
        chosen = [i for i, t in zip(index, tags, strict=True) if isinstance(t, Vector | Separate)]
        found.setdefault((elements // unit, *chosen), index)
    return found


def _inside(shape: tuple[int, ...], tags: Any, level: int) -> int:
    """Return for how many there is room in what is nested in an axis."""
    room = 1
    for extent, tag in zip(shape, tags, strict=True):
        if isinstance(tag, Nested) and tag.level < level:
            while extent % tag.pad_to:
                extent += 1  # noqa: PLW2901  (as many as there is room for)
            room *= extent
    return room


def laid(values: Any, strides: tuple[int, ...], before: int = 0) -> Any:
    """Return an array with these elements and strides, in a larger one."""
    spans = [(n - 1) * s for n, s in zip(values.shape, strides, strict=True) if n]
    low, high = (sum(s for s in spans if (s > 0) is up) for up in (False, True))
    flat = np.zeros(high - low + before + 20, values.dtype)
    size = values.itemsize
    found = as_strided(flat[before - low :], values.shape, [s * size for s in strides])
    found[...] = values
    return found
