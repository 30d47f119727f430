"""Outputs that a call does not pass: new arrays, in the layout that the kernel declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.errors import WrongStrides
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.ir.layout import Auto, element_strides, unit
from polygen.runtime.arrays.array_facts import ArrayInfo, rounded_up
from polygen.runtime.arrays.expression_values import value_of
from polygen.source import caller_location


def placed(arg: GlobalArg, shape: tuple[int, ...], sizes: Mapping[str, int]) -> ArrayInfo:
    """Return where the elements of an output are to lie; its type is not known yet.

    Raises:
        WrongStrides: if some would lie before the array's memory.
    """
    declared = element_strides(arg)
    offset = 0 if isinstance(arg.offset, Auto) else value_of(arg.offset, sizes)
    if declared is None:
        return ArrayInfo(arg.name, _ANY, shape, _row_major(shape), offset)
    known = [s if s is None or isinstance(s, Auto) else value_of(s, sizes) for s in declared]
    strides = _without_auto(known, shape, unit(arg))
    info = ArrayInfo(arg.name, _ANY, shape, strides, offset, unit(arg))
    if info.reach[0] + offset < 0:
        raise WrongStrides(
            f"array '{arg.name}' would get the strides {strides}: negative ones are for arrays "
            "that are passed",
            where=caller_location(),
            remedy=f"pass an array for '{arg.name}'",
        )
    return info


_ANY: DType = np.dtype(np.int8)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return _without_auto([Auto.AUTO] * len(shape), shape, 1)


def _without_auto(
    strides: Sequence[int | Auto | None], shape: tuple[int, ...], step: int
) -> tuple[int, ...]:
    """Return strides with numbers where they are left to the call: around all others, in C's order.

    Parameters:
        strides: in elements.
        shape: the extents.
        step: the smallest stride.
    """
    found = [s if isinstance(s, int) else 0 for s in strides]
    spans = [(n - 1) * abs(s) for n, s in zip(shape, found, strict=True)]
    step = rounded_up(sum(spans) + 1, step)
    for axis in reversed(range(len(shape))):
        if isinstance(strides[axis], Auto):
            found[axis] = step
            step *= max(shape[axis], 1)
    return tuple(found)


def allocator(
    info: ArrayInfo, dtype: DType, make: Callable[..., Any], alignment: int | None
) -> Callable[[], Any]:
    """Return what makes NumPy's array for an output.

    Parameters:
        info: where its elements are to lie.
        dtype: their type.
        make: ``empty`` or ``zeros``.
        alignment: what the address at which it begins is to be a multiple of, if that is said.
    """
    if alignment is not None:
        return lambda: view(aligned(span(info), dtype, make, alignment), info)
    if info.is_row_major and info.offset == 0:
        return partial(make, info.shape, dtype)
    return lambda: view(make(span(info), dtype), info)


def aligned(count: int, dtype: DType, make: Callable[..., Any], alignment: int | None) -> Any:
    """Return an array of one axis that begins at a multiple of so many bytes."""
    if alignment is None or alignment <= dtype.alignment:
        return make(count, dtype)
    flat = make(count * dtype.itemsize + alignment, np.uint8)
    start = -flat.ctypes.data % alignment
    return flat[start : start + count * dtype.itemsize].view(dtype)


def span(info: ArrayInfo) -> int:
    """Return how many elements the memory of an array has."""
    return rounded_up(info.offset + info.reach[1] + 1, info.unit)


def view(flat: Any, info: ArrayInfo) -> Any:
    """Return an array in memory that is given as an array of one axis."""
    strides = [stride * flat.itemsize for stride in info.strides]
    return as_strided(flat[info.offset :], info.shape, strides)
