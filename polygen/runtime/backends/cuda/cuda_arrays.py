"""Arrays in the memory of an NVIDIA GPU, whichever library made them.

None of these libraries is loaded here: if one is not, nobody can pass an array of its.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType, is_bfloat16, to_dtype
from polygen.runtime.arrays.array_library import HOST, ArrayLibrary, has_host_protocol
from polygen.runtime.backends.cuda.cuda_seen import (
    SeenArray,
    is_dlpack_on_gpu,
    seen_by_dlpack,
    seen_by_interface,
)
from polygen.runtime.backends.cuda.device_array import DeviceArray, DeviceMemory, on_host
from polygen.source import caller_location

# Returns a function of a device that tells on which stream a library works there, and what text
# makes an address of that.
_Stream: TypeAlias = "tuple[Callable[[], Callable[[int], Any]], str]"


# --- what libraries do


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
    with stream_of_cupy(stream) if on_another else nullcontext():
        memory = cupy.cuda.alloc(max(1, size))
    return cupy.ndarray(shape, dtype, memory + before, strides)


def stream_of_cupy(address: int) -> Any:
    """Return CuPy's stream at an address; what newer versions have for it warns of the older."""
    streams: Any = sys.modules["cupy"].cuda
    if hasattr(streams.Stream, "from_external"):
        return streams.Stream.from_external(_Pointer(address))
    return streams.ExternalStream(address)


@dataclass(frozen=True)
class _Pointer:
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


def bytes_between(shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...]) -> int:
    """Return how many bytes lie from the first element of an array to the last."""
    if 0 in shape:
        return 0
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize


# --- the libraries


class CudaLibrary(ArrayLibrary):
    """The access to arrays of a library in wrappers of calls: Python text, of the array's name.

    Attributes:
        key: what tells apart calls for which something else is to be done.
        place: where the first element is.
        stream: on which stream the library works.
        is_seen: whether `key` and `place` are asked of what `seen_on` returns, not of the array.
    """

    key: tuple[str, ...] = ("{0}.dtype", "{0}.shape", "{0}.strides")
    place: str = "{0}.address"
    stream: _Stream = (_no_stream, "{0}")
    is_seen: bool = False

    def home(self, _value: Any, /) -> str | None:
        """Return that it is in a GPU's memory."""
        return "cuda"

    def seen(self, value: Any, /) -> SeenArray:
        """Return what there is to know of an array."""
        return self.seen_on(value, 0)

    def seen_on(self, value: Any, stream: int, /) -> SeenArray:
        """Return what there is to know of an array that is to be used on a stream."""
        raise NotImplementedError

    def address(self, value: Any, /) -> int:
        """Return where an array begins."""
        return self.seen(value).address

    def in_memory(self, value: Any, /) -> Any:
        """Return what NumPy takes for an array at the same place."""
        return self.seen(value)

    def to_host(self, _arg: GlobalArg, value: Any, /) -> Any:
        """Return an array as NumPy's, with the same strides."""
        return on_host(self.seen(value), 0)

    def device(self, _value: Any, /) -> int | None:
        """Return the number of the device that an array is on; None if nobody says."""
        return None

    def empty(
        self,
        _like: Any,
        shape: tuple[int, ...],
        dtype: DType,
        strides: tuple[int, ...],
        before: int,
        stream: int,
        /,
    ) -> Any:
        """Return a new array like one of the library's; here, it is polygen's.

        Parameters:
            like: that array.
            shape: its extents.
            dtype: the type of its elements.
            strides: in bytes.
            before: how many bytes of its memory come before its first element.
            stream: where it is used.
        """
        memory = DeviceMemory(before + bytes_between(shape, dtype, strides))
        found = DeviceArray(memory, shape, dtype, strides, before)
        found.stream = stream
        return found


class _Polygen(CudaLibrary):
    """Those that polygen allocated."""

    def knows(self, value: Any, /) -> bool:
        return isinstance(value, DeviceArray)

    def seen_on(self, value: Any, _stream: int, /) -> SeenArray:
        return SeenArray(value.dtype, value.shape, value.strides, value.address)


class _CuPy(CudaLibrary):
    """CuPy's."""

    key = (*CudaLibrary.key, "{0}.data.device_id")
    place = "{0}.data.ptr"
    stream = (_cupy_stream, "{0}.ptr")

    def knows(self, value: Any, /) -> bool:
        return _is_of("cupy", "ndarray", value)

    def seen_on(self, value: Any, _stream: int, /) -> SeenArray:
        return SeenArray(value.dtype, value.shape, value.strides, int(value.data.ptr))

    def device(self, value: Any, /) -> int:
        return int(value.data.device_id)

    def empty(self, *arguments: Any) -> Any:
        return _empty_cupy(*arguments)


class _PyTorch(CudaLibrary):
    """PyTorch's, which may be in the host's memory as well."""

    key = (
        *("{0}.dtype", "{0}.shape", "{0}.stride()", "{0}.get_device()"),
        *("{0}.is_conj()", "{0}.is_neg()", "{0}.requires_grad"),
    )
    place = "{0}.data_ptr()"
    stream = (_torch_stream, "{0}")

    def knows(self, value: Any, /) -> bool:
        return _is_of("torch", "Tensor", value)

    def home(self, value: Any, /) -> str | None:
        if not value.is_cuda:
            return HOST
        return "cuda" if value.layout is sys.modules["torch"].strided else None

    def may_be_on_host(self, _value: Any, /) -> bool:
        return True

    def check(self, name: str, value: Any, /) -> None:
        """Refuse tensors that are to be conjugated or negated, and those with derivatives."""
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

    def seen_on(self, value: Any, _stream: int, /) -> SeenArray:
        dtype = numpy_dtype(value.dtype)
        strides = tuple([stride * dtype.itemsize for stride in value.stride()])
        return SeenArray(dtype, tuple(value.shape), strides, int(value.data_ptr()))

    def device(self, value: Any, /) -> int:
        return int(value.get_device())

    def empty(self, *arguments: Any) -> Any:
        return _empty_torch(*arguments)

    def view(self, value: Any, /) -> Any:
        torch = sys.modules["torch"]
        if value.dtype is torch.bfloat16:  # which NumPy itself does not have
            return value.view(torch.int16).numpy().view(to_dtype("bfloat16"))
        return value.numpy()

    def handed_over(self, _like: Any, _name: str, array: Any, /) -> Any:
        torch = sys.modules["torch"]
        if is_bfloat16(array.dtype):
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)


class _Interface(CudaLibrary):
    """Those of any other library that have `__cuda_array_interface__`."""

    is_seen = True

    def knows(self, value: Any, /) -> bool:
        return hasattr(value.__class__, _INTERFACE)

    def home(self, value: Any, /) -> str:
        return "cuda" if hasattr(value, _INTERFACE) else HOST

    def may_be_on_host(self, value: Any, /) -> bool:
        return has_host_protocol(value)

    def seen_on(self, value: Any, stream: int, /) -> SeenArray:
        return seen_by_interface(value, stream)


class _DLPack(CudaLibrary):
    """Those of any other library that have DLPack: in a GPU's memory, or the host's."""

    is_seen = True

    def knows(self, value: Any, /) -> bool:
        return hasattr(value.__class__, "__dlpack_device__")

    def home(self, value: Any, /) -> str:
        return "cuda" if is_dlpack_on_gpu(value) else HOST

    def may_be_on_host(self, value: Any, /) -> bool:
        return has_host_protocol(value)

    def seen_on(self, value: Any, stream: int, /) -> SeenArray:
        return seen_by_dlpack(value, stream)

    def device(self, value: Any, /) -> int:
        return int(value.__dlpack_device__()[1])


_INTERFACE = "__cuda_array_interface__"


def _is_of(module: str, name: str, value: Any) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return known is not None and isinstance(value, known)


POLYGEN = _Polygen()
# Protocols come last: libraries that are known by name have them, too.
CUDA_LIBRARIES = (POLYGEN, _CuPy(), _PyTorch(), _Interface(), _DLPack())


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
