"""Element types: NumPy's dtypes, under names that are the same in every target."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import InvalidArgument, TypeNotSupported

DType: TypeAlias = np.dtype[Any]

# The widest type of each kind, in bytes: NumPy's long double is no portable type.
_WIDEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}


def to_dtype(spec: object) -> DType:
    """Return the NumPy dtype that `spec` names.

    Parameters:
        spec: a NumPy dtype, scalar type, or name such as ``"float32"`` or ``"int"``.

    Raises:
        InvalidArgument: if `spec` is no boolean, integer, floating-point or complex type.
        TypeNotSupported: if it is bfloat16, which no target has.

    >>> to_dtype("float32")
    dtype('float32')
    """
    try:
        dtype = np.dtype(spec)  # type: ignore[call-overload]
    except TypeError:
        dtype = None
    if getattr(dtype, "name", spec) == "bfloat16":
        raise TypeNotSupported(
            "no target has the type 'bfloat16'",
            remedy="use float16, which all targets have, or float32",
        )
    if dtype is None or spec is None or dtype.itemsize > _WIDEST.get(dtype.kind, 0):
        raise InvalidArgument(
            f"{spec!r} is no element type",
            remedy="use a NumPy type such as np.float32, or its name",
        )
    native: DType = dtype.newbyteorder("=")
    return native


@cache
def dtype_name(dtype: DType) -> str:
    """Return NumPy's name of a type, which NumPy finds anew each time that it is asked."""
    return str(dtype.name)


def is_integer(dtype: DType) -> bool:
    """Tell whether `dtype` is a signed or unsigned integer type (booleans are not)."""
    return dtype.kind in "iu"
