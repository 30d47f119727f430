"""Arrays in the memory of an NVIDIA GPU, whichever library made them.

None of these libraries is loaded here: if one is not, nobody can pass an array of its.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polygen.errors import WrongArgumentType
from polygen.ir.dtype import DType
from polygen.runtime.cuda_driver import DriverError, driver
from polygen.runtime.device_errors import driver_error, is_no_memory, no_memory
from polygen.source import caller_location


@dataclass(frozen=True, slots=True)
class SeenArray:
    """What there is to know of an array, under NumPy's names.

    Attributes:
        dtype: the type of its elements.
        shape: its extents.
        strides: in bytes.
        address: where its first element is.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """As NumPy asks for it; nothing may be read from the address."""
        return {
            "version": 3,
            "data": (self.address, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
        }


class DeviceArray:
    """An array that polygen allocated on a device: other libraries can use its memory.

    Attributes:
        dtype: the type of its elements.
        shape: its extents.
        strides: in bytes.
        address: where its first element is.
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
        }

    def get(self, stream: int = 0) -> Any:
        """Return a copy in the host's memory, after what was started on a stream."""
        return to_host(self, stream)


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
            self.address = driver().allocate(max(1, size))
        except DriverError as error:
            if what is None or not is_no_memory(error):
                raise
            raise no_memory(f"{what} needs {size} bytes on the device", error) from None
        self._free: Callable[[int], None] = driver().free

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(self.address)


def to_host(value: Any, stream: int = 0) -> Any:
    """Return a device's array as NumPy's, with the same strides."""
    array = seen(value)
    size = array.dtype.itemsize
    spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    if array.size == 0:
        return np.empty(array.shape, array.dtype)
    low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
    flat = np.empty(high - low + size, np.uint8)
    driver().copy(flat.ctypes.data, array.address + low, flat.nbytes, stream, to_host=True)
    first = flat[-low:][:size].view(array.dtype)
    return as_strided(first, array.shape, array.strides)


# --- the libraries


@dataclass(frozen=True)
class ArrayClass:
    """How arrays of a library are asked: Python text, of the array's name.

    Attributes:
        key: what tells apart calls for which something else is to be done.
        address: where the first element is.
        stream: a function that returns the stream on which the library works at present.
        empty: a function that makes an array like one of its: of that, shape, type, and strides in
            bytes.
        seen: a function that returns what `key` and `address` are asked of, if not the array.
    """

    key: tuple[str, ...]
    address: str
    stream: Callable[[], int]
    empty: Callable[[Any, tuple[int, ...], DType, tuple[int, ...], int], Any]
    seen: Callable[[Any], SeenArray] | None = None


def _cupy_stream() -> int:
    return int(sys.modules["cupy"].cuda.get_current_stream().ptr)


def _torch_stream() -> int:
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a fifth of the other's time
    if raw is None:
        return int(torch.cuda.current_stream().cuda_stream)
    return int(raw(driver().device()))


def _no_stream() -> int:
    return 0


def _empty_cupy(
    _like: Any, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...], before: int
) -> Any:
    cupy = sys.modules["cupy"]
    size = before + bytes_between(shape, dtype, strides)
    memory = cupy.cuda.alloc(max(1, size))
    return cupy.ndarray(shape, dtype, memory + before, strides)


def _empty_torch(
    like: Any, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...], before: int
) -> Any:
    torch = sys.modules["torch"]
    size = dtype.itemsize
    count = (before + bytes_between(shape, dtype, strides)) // size
    flat = torch.empty(max(1, count), dtype=torch_dtype(dtype), device=like.device)
    return flat.as_strided(shape, [s // size for s in strides], before // size)


def _empty(
    _like: Any, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...], before: int
) -> Any:
    memory = DeviceMemory(before + bytes_between(shape, dtype, strides))
    return DeviceArray(memory, shape, dtype, strides, before)


def bytes_between(shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...]) -> int:
    """Return how many bytes lie from the first element of an array to the last."""
    if 0 in shape:
        return 0
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize


def _seen_interface(value: Any) -> SeenArray:
    interface = value.__cuda_array_interface__
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = tuple([dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))])
    return SeenArray(dtype, shape, tuple(strides), int(interface["data"][0]))


def _seen_torch(value: Any) -> SeenArray:
    dtype = numpy_dtype(value.dtype)
    strides = tuple([stride * dtype.itemsize for stride in value.stride()])
    return SeenArray(dtype, tuple(value.shape), strides, int(value.data_ptr()))


_CUPY = ArrayClass(
    ("{0}.dtype", "{0}.shape", "{0}.strides", "{0}.data.device_id"),
    "{0}.data.ptr",
    _cupy_stream,
    _empty_cupy,
)
_TORCH = ArrayClass(
    ("{0}.dtype", "{0}.shape", "{0}.stride()", "{0}.device"),
    "{0}.data_ptr()",
    _torch_stream,
    _empty_torch,
)
POLYGEN = ArrayClass(("{0}.dtype", "{0}.shape", "{0}.strides"), "{0}.address", _no_stream, _empty)
_OTHER = ArrayClass(
    ("{0}.dtype", "{0}.shape", "{0}.strides"), "{0}.address", _no_stream, _empty, _seen_interface
)
_KNOWN: Mapping[tuple[str, str], ArrayClass] = {
    ("cupy", "ndarray"): _CUPY,
    ("torch", "Tensor"): _TORCH,
}


_INTERFACE = "__cuda_array_interface__"


def array_class(kind: type) -> ArrayClass | None:
    """Return how arrays of a class are asked; None if a class has none on a GPU."""
    if kind is DeviceArray:
        return POLYGEN
    for (module, name), found in _KNOWN.items():
        loaded = sys.modules.get(module)
        known = getattr(loaded, name, None)
        if known is not None and issubclass(kind, known):
            return found
    return _OTHER if hasattr(kind, _INTERFACE) else None


def is_cuda_array(value: object) -> bool:
    """Tell whether a value is an array in a GPU's memory."""
    if isinstance(value, np.ndarray | np.generic):
        return False
    kind: type[Any] = type(value)
    found = array_class(kind)
    if found is _TORCH:
        return bool(getattr(value, "is_cuda", False))
    # Arrays of one class may be anywhere.
    return found is not None and (found is not _OTHER or hasattr(value, _INTERFACE))


def seen(value: Any) -> SeenArray:
    """Return what there is to know of an array in a GPU's memory."""
    kind: type[Any] = value.__class__
    found = array_class(kind)
    if found is _TORCH:
        return _seen_torch(value)
    if found is _CUPY:
        return SeenArray(value.dtype, value.shape, value.strides, int(value.data.ptr))
    if found is POLYGEN:
        return SeenArray(value.dtype, value.shape, value.strides, value.address)
    return _seen_interface(value)


def device_of(value: Any) -> int | None:
    """Return the number of the device that an array is on; None if its library does not say."""
    kind: type[Any] = value.__class__
    found = array_class(kind)
    if found is _TORCH:
        return int(value.get_device())
    return int(value.data.device_id) if found is _CUPY else None


# --- types of PyTorch's


@cache
def _torch_types() -> dict[Any, DType]:
    torch = sys.modules["torch"]
    names = """bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128
    uint16 uint32 uint64"""
    return {getattr(torch, n): np.dtype(n) for n in names.split() if hasattr(torch, n)}


def numpy_dtype(dtype: Any) -> DType:
    """Return NumPy's name for a type of PyTorch's.

    Raises:
        WrongArgumentType: if it has none.
    """
    found = _torch_types().get(dtype)
    if found is None:
        raise WrongArgumentType(
            f"polygen has no type {dtype}",
            where=caller_location(),
            remedy="convert it: tensor.to(torch.float32), say",
        )
    return found


def torch_dtype(dtype: DType) -> Any:
    """Return PyTorch's name for a type."""
    return next(t for t, known in _torch_types().items() if known == dtype)


# --- streams


def stream_address(queue: Any) -> int | None:
    """Return the address of a stream; None if a value is none."""
    kind: type[Any] = queue.__class__
    find = _STREAMS.get(kind)
    return _find_stream(queue) if find is None else find(queue)


_STREAMS: dict[type, Callable[[Any], int]] = {int: int}


def _find_stream(queue: Any) -> int | None:
    kind: type[Any] = queue.__class__
    for module, attribute in (("cupy", "ptr"), ("torch", "cuda_stream")):
        if kind.__module__.split(".")[0] == module and hasattr(queue, attribute):
            _STREAMS[kind] = attrgetter(attribute)
            return stream_address(queue)
    if hasattr(queue, "__cuda_stream__"):
        given: Any = queue.__cuda_stream__
        pair = cast("tuple[int, int]", given() if callable(given) else given)
        return int(pair[1])
    return None


def stream_of(queue: Any) -> int:
    """Return the address of a stream.

    Raises:
        WrongArgumentType: if a value is none.
    """
    found = stream_address(queue)
    if found is None:
        raise WrongArgumentType(
            f"{queue!r} was passed for a stream of CUDA's",
            where=caller_location(),
            remedy="pass a stream of CuPy's or PyTorch's, the address of one, or nothing",
        )
    return found


class CudaEvent:
    """The event of a call: over when all is that was on its stream when somebody asks."""

    __slots__ = ("kernel", "stream")

    def __init__(self, stream: int, kernel: str) -> None:
        self.stream, self.kernel = stream, kernel

    def wait(self) -> None:
        """Wait until it is over.

        Raises:
            KernelFault: if the device failed in the kernel, or in what was started before it.
        """
        try:
            driver().wait(self.stream)
        except DriverError as error:
            raise driver_error(self.kernel, error) from None

    synchronize = wait
