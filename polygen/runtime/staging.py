"""NumPy arrays on a device that has memory of its own: copied there, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.analysis.footprint import fully_written
from polygen.ir.array import GlobalArg
from polygen.runtime.arguments import Form
from polygen.runtime.arrays import ArrayInfo, describe
from polygen.runtime.opencl import OpenCLArray, Queue, pyopencl
from polygen.runtime.outputs import must_be_passed, written_arrays
from polygen.runtime.overlap import check_apart, raise_read_only

_REMEDY = "pass a copy of one of them: on a device, NumPy arrays that overlap would not"


@dataclass(frozen=True)
class Staged:
    """A copy on the device.

    Attributes:
        host: the array that it is a copy of.
        array: the copy, with the same shape.
        flat: all of the copy's memory, as an array of one axis.
        info: where the copy's elements lie in it.
    """

    host: Any
    array: OpenCLArray
    flat: OpenCLArray
    info: ArrayInfo

    def copy_back(self) -> None:
        """Copy the device's elements into the host's array."""
        if self.info.size:
            self.host[...] = _view(self.flat.get(), self.info)


def stage_all(queue: Queue, form: Form, args: Mapping[str, Any]) -> dict[str, Staged]:
    """Return copies on the device of all NumPy arrays among the arguments of a call.

    Raises:
        ReadOnlyOutput: if one that is written is read-only.
        OverlappingArguments: if one that is written overlaps another: copies would not.
    """
    kernel = form.kernel
    written = written_arrays(kernel)
    on_host = [arg for arg in form.arrays if isinstance(args[arg.name], np.ndarray)]
    staged: dict[str, Staged] = {}
    for arg in on_host:
        value = args[arg.name]
        # What is wrong with an array is said before anything is copied.
        describe(arg, value)
        if arg.name in written:
            if not value.flags.writeable:
                raise_read_only(arg.name)
            for other in on_host:
                if other.name != arg.name:
                    check_apart(arg.name, value, other.name, args[other.name], _REMEDY)
    for arg in on_host:
        needed = must_be_passed(kernel, arg.name) or not fully_written(kernel, arg.name)
        staged[arg.name] = stage(queue, arg, args[arg.name], copy=needed)
    return staged


def stage(queue: Queue, arg: GlobalArg, value: Any, *, copy: bool) -> Staged:
    """Return a copy on the device of a NumPy array.

    It is row-major, unless the kernel declares strides: then it has those of the original.

    Parameters:
        queue: where to copy.
        arg: the argument that it is passed for.
        value: the array.
        copy: whether its elements are needed there.
    """
    array = pyopencl().array
    info = _placed(arg, value)
    if not copy:
        flat = array.Array(queue, _span(info), value.dtype)
    elif info.is_row_major and value.flags.c_contiguous:
        flat = array.to_device(queue, value.reshape(-1))
    else:
        host = np.zeros(_span(info), value.dtype)
        _view(host, info)[...] = value
        flat = array.to_device(queue, host)
    size = value.dtype.itemsize
    staged = array.Array(
        queue,
        value.shape,
        value.dtype,
        strides=tuple(stride * size for stride in info.strides),
        data=flat.base_data,
        offset=info.offset * size,
        events=flat.events,
    )
    return Staged(value, staged, flat, info)


def _placed(arg: GlobalArg, value: Any) -> ArrayInfo:
    given = describe(arg, value)
    if arg.strides is None:
        step, strides = 1, [0] * len(given.shape)
        for axis in reversed(range(len(given.shape))):
            strides[axis] = step
            step *= given.shape[axis]
        return ArrayInfo(arg.name, given.dtype, given.shape, tuple(strides))
    offset = -given.reach[0]
    return ArrayInfo(arg.name, given.dtype, given.shape, given.strides, offset)


def _span(info: ArrayInfo) -> int:
    low, high = info.reach
    return high - low + 1


def _view(flat: Any, info: ArrayInfo) -> Any:
    strides = [stride * flat.itemsize for stride in info.strides]
    return as_strided(flat[info.offset :], info.shape, strides)
