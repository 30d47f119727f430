"""Tables of constants, and other temporaries with elements that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from polygen.errors import InvalidArgument
from polygen.ir.array import AddressSpace, TemporaryVariable, is_array
from polygen.ir.dtype import DType, is_inexact, to_dtype
from polygen.ir.show import show_tuple
from polygen.source import caller_location


def with_table(temporary: TemporaryVariable) -> TemporaryVariable:
    """Return a temporary whose type and shape are normal, with those of its elements if it has any.

    Raises:
        InvalidArgument: if what it is initialized with is no array that fits, or if a group would
            share a table of constants.
    """
    found = _checked_elements(temporary)
    if found is None:
        if temporary.read_only:
            _refuse(temporary, "is read-only, and has no elements", "pass initializer=, an array")
        return temporary
    if temporary.read_only:
        if temporary.address_space is AddressSpace.LOCAL:
            _refuse(
                temporary,
                "is read-only, and local",
                "leave out address_space=: all share a table; add_prefetch makes copies for groups",
            )
        temporary = temporary.in_space(AddressSpace.GLOBAL)
    return replace(temporary, dtype=found.dtype, shape=found.shape, initializer=found)


def _checked_elements(temporary: TemporaryVariable) -> np.ndarray[Any, Any] | None:
    """Return what a temporary is initialized with, which fits what else is said of it."""
    value: object = temporary.initializer
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not is_array(value):
        _refuse(temporary, f"is initialized with {value!r}", "pass an array of NumPy's")
    if value.dtype.kind not in "biufc":
        _refuse(temporary, f"has elements of type {value.dtype}", "pass an array of numbers")
    found = _frozen(value)
    if temporary.dtype not in (None, found.dtype):
        _refuse(
            temporary,
            f"is of type {to_dtype(temporary.dtype)}, and its initializer of {found.dtype}",
            "leave out the type, or convert the array",
        )
    if temporary.shape and temporary.shape != found.shape:
        _refuse(
            temporary,
            f"has the shape {show_tuple(temporary.shape)}, and its initializer {found.shape}",
            "leave out the shape",
        )
    if not found.size:
        _refuse(temporary, "is initialized with no elements", "pass an array that has some")
    return found


def _refuse(temporary: TemporaryVariable, why: str, remedy: str) -> NoReturn:
    raise InvalidArgument(
        f"the temporary '{temporary.name}' {why}", where=caller_location(), remedy=remedy
    )


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row-major copy that cannot be written, in which all that is no number is alike."""
    found = np.array(array, to_dtype(array.dtype), order="C")
    if is_inexact(found.dtype) and found.shape:
        is_complex = found.dtype.kind == "c"
        parts = found.view(f"f{found.dtype.itemsize // 2}") if is_complex else found
        parts[np.isnan(parts)] = np.nan
    found.flags.writeable = False
    return found


def read_elements(text: str, dtype: DType) -> np.ndarray[Any, Any]:
    """Return the elements that `show_elements` shows.

    Raises:
        ValueError: if one is no number of the type.
        OverflowError: if one does not fit.
    """
    found = [_READERS[dtype.kind](part.strip()) for part in text.strip("[] ").split(",")]
    return np.array(found, dtype)


def _truth(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(text)
    return text == "True"


_READERS: Mapping[str, Callable[[str], Any]] = {
    "b": _truth,
    "i": int,
    "u": int,
    "f": float,
    "c": complex,
}
