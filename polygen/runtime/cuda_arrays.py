"""Arrays in the memory of an NVIDIA GPU, whichever library made them.

None of these libraries is loaded here: if one is not, nobody can pass an array of its.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.dtype import DType, is_bfloat16, to_dtype
from polygen.runtime.cuda_seen import (
    SeenArray,
    is_dlpack_on_gpu,
    seen_by_dlpack,
    seen_by_interface,
)
from polygen.runtime.device_array import DeviceArray, DeviceMemory, on_host
from polygen.source import caller_location


def to_host(value: Any, stream: int = 0) -> Any:
    """Return a device's array as NumPy's, with the same strides."""
    return on_host(seen(value), stream)


# --- the libraries


@dataclass(frozen=True)
class ArrayClass:
    """How arrays of a library are asked: Python text, of the array's name.

    Attributes:
        key: what tells apart calls for which something else is to be done.
        address: where the first element is.
        stream: returns a function of a device that tells on which stream the library works there,
            and what text makes an address of that.
        empty: a function that makes an array like one of its: of that, shape, type, strides in
            bytes, bytes before its first element, and the stream on which it is used.
        seen: a function of an array and a stream that returns what `key` and `address` are asked
            of, if not the array.
    """

    key: tuple[str, ...]
    address: str
    stream: tuple[Callable[[], Callable[[int], Any]], str]
    empty: Callable[[Any, tuple[int, ...], DType, tuple[int, ...], int, int], Any]
    seen: Callable[[Any, int], SeenArray] | None = None


def _cupy_stream() -> Callable[[int], Any]:
    current: Callable[[], Any] = sys.modules["cupy"].cuda.get_current_stream
    return lambda _: current()


def _torch_stream() -> Callable[[int], int]:
    torch = sys.modules["torch"]
    # It takes a fifth of the other's time.
    raw: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


def _no_stream() -> Callable[[int], int]:
    return lambda _: 0


def _empty_cupy(
    _like: Any,
    shape: tuple[int, ...],
    dtype: DType,
    strides: tuple[int, ...],
    before: int,
    stream: int,
) -> Any:
    cupy = sys.modules["cupy"]
    size = before + bytes_between(shape, dtype, strides)
    # Memory that is free again is for the stream for which it was allocated.
    on_another = int(cupy.cuda.get_current_stream().ptr) != stream
    with _stream_of_cupy(stream) if on_another else nullcontext():
        memory = cupy.cuda.alloc(max(1, size))
    return cupy.ndarray(shape, dtype, memory + before, strides)


def _stream_of_cupy(address: int) -> Any:
    """Return CuPy's stream at an address; what newer versions have for it warns of the older."""
    streams: Any = sys.modules["cupy"].cuda
    if hasattr(streams.Stream, "from_external"):
        return streams.Stream.from_external(_Stream(address))
    return streams.ExternalStream(address)


@dataclass(frozen=True)
class _Stream:
    """A stream as libraries ask for it."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol, and the address."""
        return 0, self.address


def _empty_torch(
    like: Any,
    shape: tuple[int, ...],
    dtype: DType,
    strides: tuple[int, ...],
    before: int,
    stream: int,
) -> Any:
    torch = sys.modules["torch"]
    size = dtype.itemsize
    count = (before + bytes_between(shape, dtype, strides)) // size
    on_another = int(torch.cuda.current_stream(like.device).cuda_stream) != stream
    chosen = torch.cuda.ExternalStream(stream, device=like.device) if on_another else None
    with torch.cuda.stream(chosen):
        flat = torch.empty(max(1, count), dtype=torch_dtype(dtype), device=like.device)
    return flat.as_strided(shape, [s // size for s in strides], before // size)


def _empty(
    _like: Any,
    shape: tuple[int, ...],
    dtype: DType,
    strides: tuple[int, ...],
    before: int,
    stream: int,
) -> Any:
    memory = DeviceMemory(before + bytes_between(shape, dtype, strides))
    found = DeviceArray(memory, shape, dtype, strides, before)
    found.stream = stream
    return found


def bytes_between(shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...]) -> int:
    """Return how many bytes lie from the first element of an array to the last."""
    if 0 in shape:
        return 0
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize


def _seen_torch(value: Any) -> SeenArray:
    dtype = numpy_dtype(value.dtype)
    strides = tuple([stride * dtype.itemsize for stride in value.stride()])
    return SeenArray(dtype, tuple(value.shape), strides, int(value.data_ptr()))


_CUPY = ArrayClass(
    ("{0}.dtype", "{0}.shape", "{0}.strides", "{0}.data.device_id"),
    "{0}.data.ptr",
    (_cupy_stream, "{0}.ptr"),
    _empty_cupy,
)
_TORCH = ArrayClass(
    (
        *("{0}.dtype", "{0}.shape", "{0}.stride()", "{0}.get_device()"),
        *("{0}.is_conj()", "{0}.is_neg()", "{0}.requires_grad"),
    ),
    "{0}.data_ptr()",
    (_torch_stream, "{0}"),
    _empty_torch,
)
NO_STREAM = (_no_stream, "{0}")
POLYGEN = ArrayClass(("{0}.dtype", "{0}.shape", "{0}.strides"), "{0}.address", NO_STREAM, _empty)
_OTHER = replace(POLYGEN, seen=seen_by_interface)
_DLPACK = replace(POLYGEN, seen=seen_by_dlpack)
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
    if hasattr(kind, _INTERFACE):
        return _OTHER
    return _DLPACK if hasattr(kind, "__dlpack_device__") else None


def is_cuda_array(value: object) -> bool:
    """Tell whether a value is an array in a GPU's memory."""
    if isinstance(value, np.ndarray | np.generic):
        return False
    kind: type[Any] = type(value)
    found = array_class(kind)
    if found is _TORCH:
        tensor: Any = value
        return bool(tensor.is_cuda and tensor.layout is sys.modules["torch"].strided)
    # Arrays of one class may be anywhere.
    if found is _DLPACK:
        return is_dlpack_on_gpu(value)
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
    assert found is not None
    assert found.seen is not None
    return found.seen(value, 0)


def check_plain(name: str, value: Any) -> None:
    """Check that the memory of an array in a GPU's has its elements, and all that it stands for.

    Raises:
        WrongArgumentType: if it is a tensor of PyTorch's that is to be conjugated or negated when
            it is read, or one through which derivatives are taken.
    """
    if array_class(value.__class__) is not _TORCH:
        return
    lazy = [
        (value.is_conj(), "is still to be conjugated", "resolve_conj"),
        (value.is_neg(), "is still to be negated", "resolve_neg"),
        (value.requires_grad, "requires a gradient, which calls do not compute", "detach"),
    ]
    for found, what, method in lazy:
        if found:
            raise WrongArgumentType(
                f"argument '{name}' is a tensor that {what}",
                where=caller_location(),
                remedy=f"pass {name}.{method}()",
            )


def device_of(value: Any) -> int | None:
    """Return the number of the device that an array is on; None if its library does not say."""
    kind: type[Any] = value.__class__
    found = array_class(kind)
    if found is _TORCH:
        return int(value.get_device())
    if found is _DLPACK:
        return int(value.__dlpack_device__()[1])
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
    if found is None and dtype is sys.modules["torch"].bfloat16:
        return to_dtype("bfloat16")
    if found is None:
        raise WrongArgumentType(
            f"polygen has no type {dtype}",
            where=caller_location(),
            remedy="convert it: tensor.to(torch.float32), say",
        )
    return found


def torch_dtype(dtype: DType) -> Any:
    """Return PyTorch's name for a type."""
    if is_bfloat16(dtype):
        return sys.modules["torch"].bfloat16
    return next(t for t, known in _torch_types().items() if known == dtype)
