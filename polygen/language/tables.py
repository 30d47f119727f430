"""Tables of constants: temporaries with elements that are known when code is generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from polygen.errors import InvalidArgument
from polygen.ir.array import AddressSpace, TemporaryVariable, is_array
from polygen.ir.dtype import DType, to_dtype
from polygen.ir.show import show_tuple
from polygen.source import caller_location


def with_table(temporary: TemporaryVariable) -> TemporaryVariable:
    """Return a temporary whose type and shape are normal, with those of its elements if it has any.

    Raises:
        InvalidArgument: if what it is initialized with is no array that fits, or if it would be
            written.
    """
    value: object = temporary.initializer
    if value is None:
        if temporary.read_only:
            _refuse(temporary, "is read-only, and has no elements", "pass initializer=, an array")
        return temporary
    if not is_array(value):
        _refuse(temporary, f"is initialized with {value!r}", "pass an array of NumPy's")
    if value.dtype.kind not in "biufc":
        _refuse(temporary, f"has elements of type {value.dtype}", "pass an array of numbers")
    if not temporary.read_only:
        _refuse(
            temporary,
            "is initialized, but not read-only",
            "pass read_only=True; what is written later gets its first value by an instruction",
        )
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
    if not found.size or not found.shape:
        _refuse(
            temporary,
            "is initialized with " + ("no elements" if found.shape else "a single number"),
            "write the number itself" if found.size else "pass an array that has some",
        )
    return replace(
        temporary,
        dtype=found.dtype,
        shape=found.shape,
        address_space=AddressSpace.GLOBAL,
        initializer=found,
    )


def _refuse(temporary: TemporaryVariable, why: str, remedy: str) -> NoReturn:
    raise InvalidArgument(
        f"the temporary '{temporary.name}' {why}", where=caller_location(), remedy=remedy
    )


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row-major copy that cannot be written, in which all that is no number is alike."""
    found = np.array(array, to_dtype(array.dtype), order="C")
    if found.dtype.kind in "fc" and found.shape:
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
