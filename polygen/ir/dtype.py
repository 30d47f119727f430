"""Element types: NumPy's dtypes, under names that are the same in every target.

`FACTS` has a row for each.  A new type needs names as well: in `targets.languages` (``type_names``,
``SHORT_NAMES``), `emission` (`c_text`, `fortran`, `library_module`) and `runtime` (arguments of
each backend, DLPack).  A type that numbers are stored in but not computed in needs conversions
where they are read and written: follow `is_bfloat16`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import InternalError, InvalidArgument, TypeNotSupported, close_names
from polygen.source import caller_location

DType: TypeAlias = np.dtype[Any]


@dataclass(frozen=True)
class TypeFacts:
    """Facts about an element type: its kind, width and range.

    Attributes:
        kind: what its numbers are, by NumPy's letters: ``b``, ``i``, ``u``, ``f`` or ``c``.
        size: of an element, in bytes.
        limits: the smallest and the largest of booleans and integers.
        epsilon: how far the next number after 1 is from it; 0 for booleans and integers.
        computed_in: the name of the type that numbers of this one are computed in, if another.
    """

    kind: str
    size: int
    limits: tuple[int, int] | None = None
    epsilon: float = 0.0
    computed_in: str | None = None


_SIZES = (1, 2, 4, 8)
FACTS: Mapping[str, TypeFacts] = {
    "bool": TypeFacts("b", 1, (0, 1)),
    **{
        f"int{8 * n}": TypeFacts("i", n, (-(2 ** (8 * n - 1)), 2 ** (8 * n - 1) - 1))
        for n in _SIZES
    },
    **{f"uint{8 * n}": TypeFacts("u", n, (0, 2 ** (8 * n) - 1)) for n in _SIZES},
    "float16": TypeFacts("f", 2, epsilon=2.0**-10),
    "float32": TypeFacts("f", 4, epsilon=2.0**-23),
    "float64": TypeFacts("f", 8, epsilon=2.0**-52),
    "complex64": TypeFacts("c", 8, epsilon=2.0**-23),
    "complex128": TypeFacts("c", 16, epsilon=2.0**-52),
    "bfloat16": TypeFacts("f", 2, epsilon=2.0**-7, computed_in="float32"),
}
"""The element types by name.  NumPy's long double is none: it is not portable."""


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
    if dtype is None or spec is None or dtype_name(dtype) not in FACTS:
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
    close = [found] if found else close_names(name, tuple(FACTS), 1, alike=0.7)
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
    """Tell whether a type is bfloat16, the only one of ours that NumPy itself does not have.

    NumPy's letter for it is ``V``, as it is for other types of ml_dtypes, for records, and for
    bytes without a type (``V2``).
    """
    return dtype is not None and dtype.kind == "V" and dtype.name == "bfloat16"


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


def facts(dtype: DType) -> TypeFacts:
    """Return what is true of an element type."""
    return FACTS[dtype_name(dtype)]


def integer_limits(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest value of a boolean or integer type."""
    limits = facts(dtype).limits
    if limits is None:
        raise InternalError(f"no smallest or largest value of type {dtype}")
    return limits


# What types are that numbers are computed in; of bfloat16, none holds.


def is_integer(dtype: DType) -> bool:
    """Tell whether a type is a signed or unsigned integer type (booleans are not)."""
    return dtype.kind in "iu"


def is_exact(dtype: DType) -> bool:
    """Tell whether a type is one of booleans or integers, with which nothing is rounded."""
    return dtype.kind in "biu"


def is_inexact(dtype: DType) -> bool:
    """Tell whether a type is one of floating-point or complex numbers."""
    return dtype.kind in "fc"


def is_real(dtype: DType) -> bool:
    """Tell whether a type is any but one of complex numbers."""
    return dtype.kind in "biuf"


def is_short_float(dtype: DType) -> bool:
    """Tell whether a type is float16 or bfloat16, which targets compute with as with a float."""
    return (dtype.kind == "f" and dtype.itemsize == 2) or is_bfloat16(dtype)
