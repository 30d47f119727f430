"""DLPack: how arrays of one library become another's, and arrays of polygen's those of others."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

from polygen.ir.dtype import DType, is_bfloat16

KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
BOOL = (6, 8)
CUDA = 2
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5}
_UNUSED = b"dltensor"  # whoever takes the array over gives the capsule another name


class Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Placed(Protocol):
    """Facts about an array; its strides are in bytes."""

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        ...

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of neighbours along each axis."""
        ...

    @property
    def address(self) -> int:
        """The address of its first element."""
        ...


# What is in use elsewhere, by the address of what says so: the array, and what that refers to.
_IN_USE: dict[int, tuple[Any, ...]] = {}


def capsule_of(array: Placed, device: tuple[int, int]) -> Any:
    """Return a capsule that stands for an array, and keeps it until nobody uses it any more.

    Parameters:
        array: the array.
        device: the kind of device that it is on, by DLPack's number, and which of these.
    """
    count = len(array.shape)
    shape = (ctypes.c_int64 * count)(*array.shape)
    strides = (ctypes.c_int64 * count)(*[s // array.dtype.itemsize for s in array.strides])
    code, bits = _type_of(array.dtype)
    address = array.address if 0 not in array.shape else 0
    tensor = Tensor(address, *device, count, code, bits, 1, shape, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_GIVE_BACK, ctypes.c_void_p))
    at = ctypes.addressof(managed)
    _IN_USE[at] = (array, managed, shape, strides)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _Ending]
    return new(at, _UNUSED, _END)


def _type_of(dtype: DType) -> tuple[int, int]:
    if dtype.kind == "b":
        return BOOL
    return (4, 16) if is_bfloat16(dtype) else (_CODES[dtype.kind], 8 * dtype.itemsize)


_Deleter: Callable[..., Any] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Ending: Any = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _give_back(managed: int) -> None:
    del _IN_USE[managed]


def _end(capsule: int) -> None:
    """A capsule ends: if nobody took its array over, nobody else gives it back."""
    if _is_valid(capsule, _UNUSED):
        _give_back(_pointer(capsule, _UNUSED))


# By its address: Python's counting of references to it is over when it is asked.
_find: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_is_valid = _find(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = _find(("PyCapsule_GetPointer", ctypes.pythonapi))
_GIVE_BACK, _END = _Deleter(_give_back), _Ending(_end)
