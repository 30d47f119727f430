"""Types of elements: NumPy's, by the names that Kokkos has for them.

`real` stands for the precision that `set_default_precision` sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.errors import InvalidArgument
from polygen.source import caller_location

int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float32, float64 = np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128
double = np.float64


class _DefaultPrecision:
    """The type that `real` stands for."""

    def __init__(self) -> None:
        self.dtype: np.dtype[Any] = np.dtype(np.float64)

    def __repr__(self) -> str:
        return f"real (now {self.dtype})"

    def __call__(self, value: Any = 0.0) -> Any:
        """Return a number of the default precision."""
        return self.dtype.type(value)


real = _DefaultPrecision()


def set_default_precision(dtype: Any) -> None:
    """Set the type that `real` stands for, and that views have which are made without one.

    Parameters:
        dtype: `float32` or `float64`.

    Raises:
        InvalidArgument: for another type.

    >>> import polygen.workunits as pk
    >>> pk.set_default_precision(pk.float32)
    >>> pk.View([3]).dtype
    dtype('float32')
    >>> pk.set_default_precision(pk.double)
    """
    wanted = element_dtype(dtype)
    if wanted.kind != "f":
        raise InvalidArgument(
            f"{wanted} is no precision of real numbers",
            where=caller_location(),
            remedy="pass float32 or float64",
        )
    real.dtype = wanted


def element_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy type of elements that a user names.

    Parameters:
        dtype: a type of this module, of NumPy's, or of Python's; None for `real`.

    Raises:
        InvalidArgument: if there are no elements of that type in kernels.
    """
    if dtype is None or dtype is real:
        return real.dtype
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.kind not in "biufc" or found.itemsize > 16:
        raise InvalidArgument(
            f"views have no elements of the type {dtype!r}",
            where=caller_location(),
            remedy="pass one of int8 to uint64, float32, double, complex64, complex128, bool",
        )
    return found
