"""Arrays in a GPU's memory by their protocols: `__cuda_array_interface__` and DLPack."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.dtype import DType, to_dtype
from polygen.runtime.arrays.dlpack import BOOL, KINDS, Tensor
from polygen.source import caller_location


@dataclass(frozen=True, slots=True)
class SeenArray:
    """Facts about an array, under NumPy's names.

    Attributes:
        dtype: the type of its elements.
        shape: its extents.
        strides: in bytes.
        address: where its first element is.
        stream: the stream on which it is being written, if its library says so.
        read_only: whether it must not be written.
        owner: what keeps the memory there.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    stream: int | None = None
    read_only: bool = False
    owner: Any = None

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


def _row_major(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple([size * prod(shape[k + 1 :]) for k in range(len(shape))])


def seen_by_interface(value: Any, _stream: int) -> SeenArray:
    """Return what `__cuda_array_interface__` says."""
    interface = value.__cuda_array_interface__
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = _row_major(shape, dtype.itemsize)
    address, read_only = interface["data"]
    stream = interface.get("stream")
    return SeenArray(dtype, shape, tuple(strides), int(address), stream, bool(read_only))


# --- DLPack

_ON_GPU = (2, 13)  # kDLCUDA, kDLCUDAManaged
_LEGACY_STREAM = 1


def is_dlpack_on_gpu(value: Any) -> bool:
    """Tell whether an array that has DLPack is in a GPU's memory."""
    return value.__dlpack_device__()[0] in _ON_GPU


def seen_by_dlpack(value: Any, stream: int) -> SeenArray:
    """Return what DLPack says of an array, which is to be used on a stream.

    The capsule stays unused: it gives the array back when nothing refers to it.

    Raises:
        WrongArgumentType: if its elements are of a type that NumPy does not have.
    """
    capsule = value.__dlpack__(stream=stream or _LEGACY_STREAM)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = Tensor.from_address(get_pointer(capsule, b"dltensor"))
    dtype = _dtype_of(tensor)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = _row_major(shape, dtype.itemsize)
    if tensor.strides:
        strides = tuple([stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim]])
    return SeenArray(dtype, shape, strides, tensor.data + tensor.byte_offset, owner=capsule)


def _dtype_of(tensor: Tensor) -> DType:
    if (tensor.code, tensor.bits) == BOOL and tensor.lanes == 1:
        return np.dtype(np.bool_)
    if tensor.code in KINDS and tensor.bits >= 8 and tensor.lanes == 1:
        return to_dtype(f"{KINDS[tensor.code]}{tensor.bits}")
    raise WrongArgumentType(
        f"an array was passed with elements of DLPack's type {tensor.code}, with {tensor.bits} "
        f"bits and {tensor.lanes} lanes, which NumPy does not have",
        where=caller_location(),
        remedy="convert it before",
    )
