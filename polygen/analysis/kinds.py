"""Kinds: the types of expressions, by NumPy's rules.

A *kind* is a dtype, or one of Python's ``int``, ``float`` and ``complex`` for what has no type of
its own: Python's numbers, inames and sizes.  These adapt to what they are combined with:
``2*a[i]`` has the type of ``a``.

Beware when comparing kinds: NumPy's dtypes say that they equal Python's types, and even that
float64 equals None.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import Any, TypeAlias, cast

import numpy as np

from polygen.errors import InternalError
from polygen.ir.dtype import DType

Kind: TypeAlias = DType | type[int] | type[float] | type[complex]

BOOL: DType = np.dtype(np.bool_)
INT64: DType = np.dtype(np.int64)
UINT64: DType = np.dtype(np.uint64)
FLOAT16: DType = np.dtype(np.float16)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)

_SAMPLES: dict[object, Any] = {int: 0, float: 0.0, complex: 0j}
_DEFAULTS: dict[object, DType] = {
    int: INT64,
    float: FLOAT64,
    complex: np.dtype(np.complex128),
}
_WEAK_ORDER = (int, float, complex)


def literal_kind(value: Any) -> Kind:
    """Return the type of a number: NumPy's numbers have one, Python's do not."""
    if isinstance(value, np.generic):
        return np.result_type(cast("Any", value))
    if isinstance(value, bool):
        return BOOL
    for kind in _WEAK_ORDER:
        if isinstance(value, kind):
            return kind
    raise InternalError(f"{value!r} is no number")


def join(first: Kind, second: Kind) -> Kind:
    """Return the type that operands of two types are computed in, as NumPy does.

    >>> join(np.dtype("int32"), np.dtype("float32"))
    dtype('float64')
    >>> join(np.dtype("float32"), float)
    dtype('float32')
    """
    return first if first is second else _join(first, second)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _join(first: Any, second: Any) -> Any:
    if isinstance(first, type) and isinstance(second, type):
        return max(first, second, key=_WEAK_ORDER.index)
    return np.result_type(_SAMPLES.get(first, first), _SAMPLES.get(second, second))


def join_all(kinds: Iterable[Kind]) -> Kind:
    """Return the type that some operands, at least one, are computed in."""
    return reduce(join, kinds)


def same_kind(first: Kind | None, second: Kind | None) -> bool:
    """Tell whether two kinds are the same, where ``==`` would take None for float64."""
    return type(first) is type(second) and first == second


def default_dtype(kind: Kind) -> DType:
    """Return the dtype itself, or the one that NumPy gives to Python's numbers."""
    # To ask whether it is a dtype takes five times as long.
    return _DEFAULTS[kind] if isinstance(kind, type) else kind


def letter(kind: Kind) -> str:
    """Return NumPy's letter for a kind: b, i, u, f or c; Python's ``int`` counts as i."""
    return default_dtype(kind).kind


def kind_name(kind: Kind) -> str:
    """Return the name of a type for people."""
    return kind.name if isinstance(kind, np.dtype) else kind.__name__


def can_assign(value: Kind, target: DType) -> bool:
    """Tell whether a value may be written to a variable: NumPy's rule ``same_kind``.

    Integers may be written to floating-point variables, and to smaller ones; floating-point
    numbers not to integers, nor numbers to truth values.
    """
    if isinstance(value, np.dtype):
        return bool(np.can_cast(value, target, "same_kind"))
    allowed = {int: "iufc", float: "fc", complex: "c"}
    return target.kind in allowed[value]
