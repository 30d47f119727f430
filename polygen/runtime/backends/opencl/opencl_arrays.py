"""Arrays and images of PyOpenCL's, as calls ask them, and as they are made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numpy.lib.stride_tricks import as_strided

from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.runtime.arrays.array_facts import ArrayInfo, describe
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.runtime.arrays.output_allocation import span
from polygen.runtime.backends.opencl.device_image import DeviceImage, HostImage
from polygen.runtime.backends.opencl.opencl_driver import Queue, is_image, pyopencl
from polygen.runtime.calls.device_errors import is_no_memory, no_memory_for

# What OpenCL calls these.
_ASSOCIATED_MEMOBJECT = 0x1107
_OFFSET = 0x1108


class _Arrays(ArrayLibrary):
    """Arrays, and images that were made for arguments."""

    in_buffer = True

    def knows(self, value: Any, /) -> bool:
        # Another thread may be loading it.
        known = getattr(sys.modules.get("pyopencl.array"), "Array", None)
        return known is not None and isinstance(value, known | DeviceImage)

    def home(self, _value: Any, /) -> str:
        return "opencl"

    def is_copied(self, value: Any, /) -> bool:
        return isinstance(value, HostImage)

    def offset(self, value: Any, /) -> int:
        return int(value.offset)

    def in_memory(self, value: Any, /) -> Any:
        return _Place(value)

    def to_host(self, arg: GlobalArg, value: Any, /) -> Any:
        return copied(arg, value)


class _Images(ArrayLibrary):
    """Images of PyOpenCL's: what arguments that are images are made of."""

    def knows(self, value: Any, /) -> bool:
        return is_image(value)

    def home(self, _value: Any, /) -> str:
        return "opencl"

    def is_passed(self, _value: Any, /) -> bool:
        return False


ARRAYS = _Arrays()
OPENCL_LIBRARIES = (ARRAYS, _Images())


class _Place:
    """A device's array as NumPy sees arrays, at an address that nothing may be read from."""

    def __init__(self, array: Any) -> None:
        self.size = array.size
        address = 2**40 + offset_in_memory(array.base_data) + int(array.offset)
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
        }


def memory_of(data: Any) -> Any:
    """Return the memory object that a buffer is a part of, or the buffer itself."""
    try:
        return data.get_info(_ASSOCIATED_MEMOBJECT) or data
    except AttributeError:
        # Shared virtual memory, or none at all.
        return data


def offset_in_memory(data: Any) -> int:
    """Return where a buffer begins in the memory object that it is a part of."""
    return int(data.get_info(_OFFSET)) if hasattr(data, "get_info") else 0


def copied(arg: GlobalArg, value: Any) -> Any:
    """Return a device's array as NumPy's, with the same strides."""
    cl = pyopencl()  # which says if its driver does nothing here
    if value.flags.c_contiguous:
        return value.get()
    info = describe(arg, value, ARRAYS)
    low, high = info.reach
    flat = cl.array.Array(
        value.queue,
        (high - low + 1,),
        value.dtype,
        data=value.base_data,
        offset=(info.offset + low) * value.dtype.itemsize,
        events=value.events,
    )
    strides = [stride * value.dtype.itemsize for stride in info.strides]
    return as_strided(flat.get()[-low:], info.shape, strides)


def device_allocator(queue: Queue, info: ArrayInfo, dtype: DType, make: Callable[..., Any]) -> Any:
    """Return what makes the device's array for an output: see `allocator`."""
    error_class = pyopencl().Error
    plain = info.is_row_major and info.offset == 0
    shape = info.shape if plain else span(info)

    def new(allocator: Any = None) -> Any:
        try:
            flat = make(queue, shape, dtype, allocator=allocator)
        except error_class as error:
            if not is_no_memory(error):
                raise
            raise no_memory_for(info.name, info.shape, dtype, error) from None
        if plain:
            return flat
        return pyopencl().array.Array(
            queue,
            info.shape,
            dtype,
            strides=tuple([stride * dtype.itemsize for stride in info.strides]),
            data=flat.base_data,
            offset=info.offset * dtype.itemsize,
            events=flat.events,
        )

    return new
