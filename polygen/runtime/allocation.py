"""Outputs that a call does not pass: new arrays, with the strides that the kernel declares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.lib.stride_tricks import as_strided

from polygen.errors import WrongStrides
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.runtime.arguments import Call
from polygen.runtime.arrays import ArrayInfo
from polygen.runtime.evaluate import value_of
from polygen.runtime.opencl import Queue, pyopencl
from polygen.source import caller_location


def allocator(arg: GlobalArg, call: Call, dtype: DType, make: Callable[..., Any]) -> Any:
    """Return what makes NumPy's array for an output.

    Parameters:
        arg: the output.
        call: has the shape, and the sizes that strides depend on.
        dtype: the type of its elements.
        make: ``empty`` or ``zeros``.

    Raises:
        WrongStrides: if strides are negative.
    """
    info = _placed(arg, call, dtype)
    if info is None:
        return partial(make, call.shapes[arg.name], dtype)
    return lambda: _view(make(_span(info), dtype), info)


def device_allocator(
    queue: Queue, arg: GlobalArg, call: Call, dtype: DType, make: Callable[..., Any]
) -> Any:
    """Return what makes the device's array for an output: see `allocator`."""
    info = _placed(arg, call, dtype)
    if info is None:
        return partial(make, queue, call.shapes[arg.name], dtype)

    def new(allocator: Any = None) -> Any:
        flat = make(queue, _span(info), dtype, allocator=allocator)
        return pyopencl().array.Array(
            queue,
            info.shape,
            dtype,
            strides=tuple([stride * dtype.itemsize for stride in info.strides]),
            data=flat.base_data,
            events=flat.events,
        )

    return new


def _placed(arg: GlobalArg, call: Call, dtype: DType) -> ArrayInfo | None:
    """Return where the elements lie; None if one after the other, in C's order."""
    if arg.strides is None:
        return None
    strides = tuple([value_of(stride, call.sizes) for stride in arg.strides])
    info = ArrayInfo(arg.name, dtype, call.shapes[arg.name], strides)
    if info.reach[0] < 0:
        raise WrongStrides(
            f"array '{arg.name}' would get the strides {strides}: negative ones are for arrays "
            "that are passed",
            where=caller_location(),
            remedy=f"pass an array for '{arg.name}'",
        )
    return None if info.is_row_major else info


def _span(info: ArrayInfo) -> int:
    return info.reach[1] + 1


def _view(flat: Any, info: ArrayInfo) -> Any:
    return as_strided(flat, info.shape, [stride * flat.itemsize for stride in info.strides])
