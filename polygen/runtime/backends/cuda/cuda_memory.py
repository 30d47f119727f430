"""Memory of a GPU for the arrays of a call: new outputs, and copies of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.backends.cuda.cuda_arrays import CudaLibrary, bytes_between
from polygen.runtime.backends.cuda.cuda_driver import driver
from polygen.runtime.backends.cuda.device_array import DeviceArray, DeviceMemory
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.device_errors import is_no_memory, no_memory_for
from polygen.runtime.calls.staging import check_hosts, copied_place


def cuda_allocator(
    like: CudaLibrary, info: ArrayInfo, dtype: DType, *, cleared: bool
) -> Callable[[Any, int], Any]:
    """Return what makes a device's array for an output, like one that is passed, on a stream.

    Parameters:
        like: the library of that.
        info: where its elements are to lie.
        dtype: their type.
        cleared: whether they are to be 0.
    """
    strides = tuple([stride * dtype.itemsize for stride in info.strides])
    before = info.offset * dtype.itemsize

    def new(array: Any, stream: int) -> Any:
        try:
            found = like.empty(array, info.shape, dtype, strides, before, stream)
        except Exception as error:
            if not is_no_memory(error):
                raise
            raise no_memory_for(info.name, info.shape, dtype, error) from None
        if cleared:
            size = before + bytes_between(info.shape, dtype, strides)
            driver().clear(like.address(found) - before, size, stream)
        return found

    return new


@dataclass(frozen=True)
class StagedOnGpu:
    """A copy on the device.

    Attributes:
        host: the array that it is a copy of.
        array: the copy, with the same shape.
        stream: where it is used.
    """

    host: Any
    array: DeviceArray
    stream: int

    def copy_back(self) -> None:
        """Copy the device's elements into the host's array, after what was started before."""
        if self.host.size:
            self.host[...] = self.array.get(self.stream)


def stage_on_gpu(stream: int, form: Form, args: Mapping[str, Any]) -> dict[str, StagedOnGpu]:
    """Return copies on the device of all NumPy arrays among the arguments of a call.

    Raises:
        ReadOnlyOutput: if one that is written is read-only.
        OverlappingArguments: if one that is written overlaps another: copies would not.
    """
    staged: dict[str, StagedOnGpu] = {}
    for arg, needed in check_hosts(form, args):
        staged[arg.name] = _staged(stream, arg, args, copy=needed)
    return staged


def _staged(stream: int, arg: GlobalArg, args: Mapping[str, Any], *, copy: bool) -> StagedOnGpu:
    value = args[arg.name]
    info = copied_place(arg, value, args)
    size = value.dtype.itemsize
    strides = tuple([stride * size for stride in info.strides])
    count = info.offset + info.reach[1] + 1
    memory = DeviceMemory(count * size, f"the copy of '{arg.name}'")
    array = DeviceArray(memory, value.shape, value.dtype, strides, info.offset * size)
    if copy and value.size:
        host = np.zeros(count, value.dtype)
        as_strided(host[info.offset :], info.shape, strides)[...] = value
        driver().copy(memory.address, host.ctypes.data, host.nbytes, stream, to_host=False)
    return StagedOnGpu(value, array, stream)
