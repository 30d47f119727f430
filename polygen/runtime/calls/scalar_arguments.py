"""Scalar arguments: which Python and NumPy numbers may be passed, and as what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.errors import ValueDoesNotFit, WrongArgumentType
from polygen.ir.array import ValueArg
from polygen.ir.dtype import DType, integer_limits, is_integer
from polygen.source import caller_location

_DTYPES: dict[type, DType] = {
    **{np.dtype(code).type: np.dtype(code) for code in "?bBhHiIlLqQefdFD"},
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def scalar_dtype(arg: ValueArg, kind: type, is_size: bool) -> DType | None:
    """Return the type that a scalar argument gets from the class of what is passed for it.

    Returns:
        The declared type if there is one; else NumPy's own for NumPy scalars, and int64, float64
        or complex128 for Python numbers.  None for a size without a type: it gets that of the
        loop counters.

    Raises:
        WrongArgumentType: if such a value cannot be passed.
    """
    passed = _DTYPES.get(kind)
    if passed is None:
        raise _wrong(arg, f"a number; it is of type {kind.__name__}", _remedy(kind))
    if is_size and not is_integer(passed):
        raise _wrong(
            arg, f"an integer, for loops or shapes depend on it; it is of type {kind.__name__}"
        )
    if arg.dtype is None:
        return None if is_size else passed
    if _rank(passed) > _rank(arg.dtype):
        raise _wrong(arg, f"of type {arg.dtype.name}; it is of type {kind.__name__}")
    return arg.dtype


def passed_as(dtype: DType) -> Callable[[Any], Any]:
    """Return what makes of a number the scalar that is passed to a kernel: for a half a float."""
    return _half if dtype == np.float16 else dtype.type


def _half(value: Any) -> Any:
    return np.float32(np.float16(value))


def _rank(dtype: DType) -> int:
    # Each kind of number can be converted to those after it.
    return "bifc".index("i" if dtype.kind == "u" else dtype.kind)


def check_range(name: str, value: Any, dtype: DType) -> None:
    """Raise ValueDoesNotFit if `dtype` cannot hold an integer.

    Other numbers fit: floating-point types have infinity.
    """
    if not is_integer(dtype):
        return
    low, high = integer_limits(dtype)
    if not low <= value <= high:
        raise ValueDoesNotFit(
            f"argument '{name}' is {value}, which {dtype.name} cannot hold: it ranges from "
            f"{low} to {high}",
            where=caller_location(),
            remedy="declare a wider type for it, with add_dtypes",
        )


def _remedy(kind: type) -> str | None:
    if issubclass(kind, np.ndarray):
        return "of an array with one element, pass array.item()"
    return None


def _wrong(arg: ValueArg, what: str, remedy: str | None = None) -> WrongArgumentType:
    return WrongArgumentType(
        f"argument '{arg.name}' has to be {what}", where=caller_location(), remedy=remedy
    )
