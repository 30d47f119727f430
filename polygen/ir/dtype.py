"""Element types: NumPy's dtypes, under names that are the same in every target."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import InvalidArgument, TypeNotSupported, close_names
from polygen.source import caller_location

DType: TypeAlias = np.dtype[Any]

# The widest type of each kind, in bytes: NumPy's long double is no portable type.
_WIDEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}


def to_dtype(spec: object) -> DType:
    """Return the NumPy dtype that `spec` names.

    Parameters:
        spec: a NumPy dtype, scalar type, or name such as ``"float32"`` or ``"int"``.

    Raises:
        InvalidArgument: if `spec` is no boolean, integer, floating-point or complex type.
        TypeNotSupported: if it is bfloat16, and the package ml_dtypes, which has it, is not there.

    >>> to_dtype("float32")
    dtype('float32')
    """
    if isinstance(spec, type) and (usual := _USUAL.get(spec)) is not None:
        return usual
    try:
        named = not isinstance(spec, str) or _NAMED.fullmatch(spec)
        dtype = np.dtype(spec) if named else None  # type: ignore[call-overload]
    except TypeError:
        dtype = None
    if (spec if dtype is None else dtype_name(dtype)) == "bfloat16":
        return _bfloat16()
    if dtype is None or spec is None or dtype.itemsize > _WIDEST.get(dtype.kind, 0):
        raise InvalidArgument(
            f"{spec!r} is no element type",
            where=caller_location(),
            remedy=f"{meant_type(spec)}use a NumPy type such as np.float32, or its name",
        )
    native: DType = dtype.newbyteorder("=")
    return native


_USUAL: dict[type, DType] = {t: np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64)}
# NumPy reads more texts than names, as structures; of bytes, "a8", it warns.
_NAMED = re.compile(r"[<>=|]?(?!a\d*$)[A-Za-z]\w*", re.ASCII)
_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
)
# What C and Fortran call types that NumPy has by other names, or calls something else.
_ELSEWHERE = {
    "char": "int8",
    "signed char": "int8",
    "uchar": "uint8",
    "unsigned char": "uint8",
    "unsigned short": "uint16",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "long long": "int64",
    "long int": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "double complex": "complex128",
    "float complex": "complex64",
    "real": "float32",
    "real*4": "float32",
    "real*8": "float64",
    "integer": "int32",
}


def meant_type(spec: object) -> str:
    """Return which type a text that names none may mean, as the beginning of a remedy.

    >>> meant_type("flaot32")
    "did you mean 'float32'? "
    """
    if not isinstance(spec, str):
        return ""
    name = " ".join(spec.lower().split())
    name = name.removeprefix("np.").removesuffix("_t")  # C's int32_t
    found = _ELSEWHERE.get(name) or _ELSEWHERE.get(f"{name}_t")
    close = [found] if found else close_names(name, _NAMES, 1, alike=0.7)
    return f"did you mean '{close[0]}'? " if close else ""


def _bfloat16() -> DType:
    """Return the type of NumPy's that the package ml_dtypes has."""
    try:
        found: DType = np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise TypeNotSupported(
            "NumPy has the type 'bfloat16' only with the package ml_dtypes, which is not installed",
            where=caller_location(),
            remedy="pip install 'polygen[bfloat16]'; or use float16 or float32",
        ) from None
    return found


def is_bfloat16(dtype: DType | None) -> bool:
    """Tell whether a type is bfloat16, the only one of ours that NumPy itself does not have."""
    return dtype is not None and dtype.kind == "V" and dtype.fields is None


def of_scalar(name: str, dtype: DType | None) -> DType | None:
    """Return the type of a scalar argument.

    Raises:
        TypeNotSupported: if it is bfloat16.
    """
    if is_bfloat16(dtype):
        raise TypeNotSupported(
            f"the scalar argument '{name}' cannot be of type 'bfloat16', which is a way to store "
            "the elements of arrays",
            where=caller_location(),
            remedy="declare it a float32: that is what a bfloat16 is computed in",
        )
    return dtype


def computed_in(dtype: DType) -> DType:
    """Return the type of what is read from a variable: for bfloat16, float32; else its own.

    So bfloat16 is a type that numbers are stored in, and not one that anything is computed in.
    """
    return _FLOAT32 if is_bfloat16(dtype) else dtype


_FLOAT32: DType = np.dtype(np.float32)


@cache
def dtype_name(dtype: DType) -> str:
    """Return NumPy's name of a type, which NumPy finds anew each time that it is asked."""
    return str(dtype.name)


def is_integer(dtype: DType) -> bool:
    """Tell whether `dtype` is a signed or unsigned integer type (booleans are not)."""
    return dtype.kind in "iu"
