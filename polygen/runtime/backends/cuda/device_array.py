"""Arrays that polygen allocates in the memory of an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.ir.dtype import DType
from polygen.runtime.arrays.dlpack import CUDA, Placed, capsule_of
from polygen.runtime.backends.cuda.cuda_driver import driver
from polygen.runtime.calls.device_errors import DriverError, is_no_memory, no_memory

_DEFAULT_STREAM = 1  # what `__cuda_array_interface__` and DLPack call it
_UNORDERED = -1


class DeviceArray:
    """An array that polygen allocated on a device.

    Other libraries use its memory by `__cuda_array_interface__` and DLPack.

    Attributes:
        dtype: the type of its elements.
        shape: its extents.
        strides: in bytes.
        address: where its first element is.
        stream: the stream of the call that returned it.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        shape: tuple[int, ...],
        dtype: DType,
        strides: tuple[int, ...],
        offset: int,
    ) -> None:
        self.dtype, self.shape, self.strides = dtype, shape, strides
        self.memory, self.address = memory, memory.address + offset
        self.stream = 0

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """As other libraries ask for it."""
        return {
            "version": 3,
            "data": (self.address, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "stream": self.stream or _DEFAULT_STREAM,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's number for a GPU, and which GPU it is on."""
        return CUDA, self.memory.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule, as `from_dlpack` of another library asks for it.

        Parameters:
            stream: where it will be used: that waits for the stream of the call that returned it;
                None is the default stream, -1 one for which the caller sees to that.
            max_version: the newest version that the caller knows; what it gets is older than 1.0.
            dl_device: where the caller wants to have it.
            copy: whether the caller wants to have a copy.

        Raises:
            BufferError: if a copy is asked for, or another device.
        """
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("arrays of polygen's are exported without copies, where they are")
        if stream != _UNORDERED:
            wait_on_stream(_DEFAULT_STREAM if stream is None else stream, self.stream)
        return capsule_of(self, self.__dlpack_device__())

    def get(self, stream: int | None = None) -> Any:
        """Return a copy in the host's memory.

        Parameters:
            stream: after what was started there; without it, on that of the call that returned it.
        """
        return on_host(self, self.stream if stream is None else stream)


class DeviceMemory:
    """Memory of the current device, which is given back when nothing refers to it."""

    def __init__(self, size: int, what: str | None = None) -> None:
        """Allocate it.

        Parameters:
            size: how many bytes.
            what: what they are for, if that is not for the caller to say.

        Raises:
            OutOfMemory: if the device has not as much for what they are for.
            DriverError: if it has not as much, or failed before.
        """
        try:
            self.device = driver().device()
            self.address = driver().allocate(max(1, size))
        except DriverError as error:
            if what is None or not is_no_memory(error):
                raise
            raise no_memory(f"{what} needs {size} bytes on the device", error) from None
        self._free: Callable[[int], None] = driver().free

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(self.address)


def wait_on_stream(stream: int, other: int) -> None:
    """Let what is started on a stream from now on wait for all that was on another."""
    # The default stream has two names.
    if other != stream and {stream, other} != {0, 1}:
        driver().wait_on(stream, other)


def on_host(array: Placed, stream: int) -> Any:
    """Return a device's array as NumPy's, with the same strides."""
    size = array.dtype.itemsize
    spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    if 0 in array.shape:
        return np.empty(array.shape, array.dtype)
    low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
    flat = np.empty(high - low + size, np.uint8)
    driver().copy(flat.ctypes.data, array.address + low, flat.nbytes, stream, to_host=True)
    first = flat[-low:][:size].view(array.dtype)
    return as_strided(first, array.shape, array.strides)
