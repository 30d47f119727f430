"""Facts about an array, whichever library made it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygen.errors import (
    MisalignedArray,
    WrongArgumentType,
    WrongByteOrder,
    WrongStrides,
)
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType, computed_in
from polygen.ir.layout import unit
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.source import caller_location

_KINDS = "biufc"


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array that was passed.

    Attributes:
        name: the argument.
        dtype: the type of its elements.
        shape: its extents.
        strides: the distance of neighbours along each axis, in elements.
        offset: the place of its first element in its memory object, in elements.
        in_buffer: whether it is known what lies before it: it is a device's.
        unit: its memory consists of so many elements each: those of a vector.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    unit: int = 1
    in_buffer: bool = False

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def is_row_major(self) -> bool:
        """Whether its elements lie one after the other, the last subscript running fastest."""
        if self.size == 0:
            return True
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent > 1 and stride != step:
                return False
            step *= extent
        return True

    @property
    def reach(self) -> tuple[int, int]:
        """The lowest and the highest place of an element, counted from the first, in elements."""
        if self.size == 0:
            return (0, -1)
        spans = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return (sum(s for s in spans if s < 0), sum(s for s in spans if s > 0))


def rounded_up(count: int, step: int) -> int:
    """Return the least multiple of `step` that is not less than `count`."""
    return -(-count // step) * step


def check_array(arg: GlobalArg, value: object, library: ArrayLibrary | None) -> ArrayLibrary:
    """Return the library of an array that can be passed.

    Raises:
        WrongArgumentType: if a value is none.
    """
    if library is None or not library.is_passed(value):
        raise _not_an_array(arg, value)
    return library


def describe(arg: GlobalArg, value: Any, library: ArrayLibrary) -> ArrayInfo:
    """Return what there is to know of an array that was passed.

    Parameters:
        arg: what it was passed for.
        value: the array.
        library: its library.

    Raises:
        WrongArgumentType: if it is no array, or its elements are no numbers.
        WrongByteOrder: if they are in another byte order than the machine's.
        WrongStrides: if they do not lie at multiples of their size from each other.
        MisalignedArray: if the first does not lie at a multiple of their size in its buffer.
    """
    check_array(arg, value, library)
    library.check(arg.name, value)
    seen = library.seen(value)
    dtype: DType = seen.dtype
    if computed_in(dtype).kind not in _KINDS or dtype.itemsize > 16:
        raise WrongArgumentType(
            f"argument '{arg.name}' is an array of {dtype}, which is no type of numbers that "
            "polygen has",
            where=caller_location(),
            remedy="convert it: array.astype(np.float64), say",
        )
    if not dtype.isnative:
        raise WrongByteOrder(
            f"argument '{arg.name}' is of type {dtype.str}: not in this machine's byte order",
            where=caller_location(),
            remedy="convert it: array.astype(array.dtype.newbyteorder('='))",
        )
    shape, size = tuple(seen.shape), dtype.itemsize
    strides = _in_elements(arg, shape, tuple(seen.strides), size)
    offset = library.offset(value)
    if offset % size:
        raise MisalignedArray(
            f"argument '{arg.name}' begins {offset} bytes into its buffer, which is no multiple "
            f"of its elements' size, {size}",
            where=caller_location(),
            remedy="pass a copy: array.copy()",
        )
    return ArrayInfo(arg.name, dtype, shape, strides, offset // size, unit(arg), library.in_buffer)


def _in_elements(
    arg: GlobalArg, shape: tuple[int, ...], strides: tuple[int, ...], size: int
) -> tuple[int, ...]:
    # Along an axis with one subscript, the stride is of no consequence.
    if any(s % size for s, extent in zip(strides, shape, strict=True) if extent > 1):
        raise WrongStrides(
            f"argument '{arg.name}' has strides of {strides} bytes, which are not all "
            f"multiples of its elements' size, {size}",
            where=caller_location(),
            remedy="pass a copy: array.copy()",
        )
    return tuple([stride // size for stride in strides])


def _not_an_array(arg: GlobalArg, value: Any) -> WrongArgumentType:
    name = type(value).__name__
    if name in ("list", "tuple"):
        what, remedy = f"a {name}", f"pass np.array({arg.name}, dtype=...)"
    elif isinstance(value, numbers.Number | np.generic):
        what, remedy = f"the number {value}", "pass an array: np.array([...])"
    elif isinstance(value, np.ma.MaskedArray):
        what, remedy = "a masked array", "pass its data and its mask as two arrays"
    else:
        what, remedy = (
            f"of type {name}",
            "pass an array of NumPy's, pyopencl's, CuPy's or PyTorch's, or one with __dlpack__",
        )
    return WrongArgumentType(
        f"argument '{arg.name}' has to be an array; it is {what}",
        where=caller_location(),
        remedy=remedy,
    )
