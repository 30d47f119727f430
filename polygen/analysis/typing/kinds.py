"""Kinds: the types of expressions, by NumPy's rules.

A *kind* is a dtype, or one of Python's ``int``, ``float`` and ``complex`` for what has no type of
its own: Python's numbers.  These adapt to what they are combined with: ``2*a[i]`` has the type of
``a``.  Inames and sizes are a `Counter`: that adapts to floating-point numbers, but beside integers
it counts as the type of indices: ``i + a[i]`` does not wrap around where ``a`` is of uint8.

Beware when comparing kinds: NumPy's dtypes say that they equal Python's types, and even that
float64 equals None.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np

from polygen.errors import InternalError
from polygen.ir.dtype import DType, is_integer

Kind: TypeAlias = DType | type[int] | type[float] | type[complex]


class Counter(int):
    """The kind of inames and sizes: an integer that is at least of the type of indices."""

    dtype: DType = np.dtype(np.int32)


class LongCounter(Counter):
    """The kind of inames and sizes where indices have 64 bits."""

    dtype = np.dtype(np.int64)


BOOL: DType = np.dtype(np.bool_)
INT64: DType = np.dtype(np.int64)
UINT64: DType = np.dtype(np.uint64)
FLOAT16: DType = np.dtype(np.float16)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)

_SAMPLES: dict[object, Any] = {int: 0, Counter: 0, LongCounter: 0, float: 0.0, complex: 0j}
_DEFAULTS: dict[object, DType] = {
    **dict.fromkeys((int, Counter, LongCounter), INT64),
    float: FLOAT64,
    complex: np.dtype(np.complex128),
}
_WEAK_ORDER = (int, Counter, LongCounter, float, complex)
_PYTHON = (int, float, complex)


def literal_kind(value: Any) -> Kind:
    """Return the type of a number: NumPy's numbers have one, Python's do not."""
    if isinstance(value, np.generic):
        return np.result_type(cast("Any", value))
    if isinstance(value, bool):
        return BOOL
    for kind in _PYTHON:
        if isinstance(value, kind):
            return kind
    raise InternalError(f"{value!r} is no number")


def join(first: Kind, second: Kind) -> Kind:
    """Return the type that operands of two types are computed in, as NumPy does.

    >>> join(np.dtype("int32"), np.dtype("float32"))
    dtype('float64')
    >>> join(np.dtype("float32"), float)
    dtype('float32')
    >>> join(Counter, np.dtype("uint8")), join(int, np.dtype("uint8"))
    (dtype('int32'), dtype('uint8'))
    """
    return first if first is second else _join(first, second)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _join(first: Any, second: Any) -> Any:
    if isinstance(first, type) and isinstance(second, type):
        return max(first, second, key=_WEAK_ORDER.index)
    pairs: list[tuple[Any, Any]] = [(first, second), (second, first)]
    for counter, other in pairs:
        if is_counter(counter) and is_integer(other) and other != UINT64:
            return np.result_type(counter.dtype, other)
    return np.result_type(_SAMPLES.get(first, first), _SAMPLES.get(second, second))


def join_all(kinds: Iterable[Kind]) -> Kind:
    """Return the type that some operands, at least one, are computed in."""
    return reduce(join, kinds)


def is_counter(kind: Kind) -> TypeGuard[type[Counter]]:
    """Tell whether a kind is that of inames and sizes."""
    return isinstance(kind, type) and issubclass(kind, Counter)


def is_index(kind: Kind) -> bool:
    """Tell whether a kind is that of integers without a type of their own."""
    return isinstance(kind, type) and issubclass(kind, int)


def counter_of(index_dtype: DType) -> type[Counter]:
    """Return the kind of inames and sizes, given the type of indices."""
    return LongCounter if index_dtype.itemsize > Counter.dtype.itemsize else Counter


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
    if is_index(kind):
        return "int"
    return kind.name if isinstance(kind, np.dtype) else kind.__name__


def can_assign(value: Kind, target: DType) -> bool:
    """Tell whether a value may be written to a variable: NumPy's rule ``same_kind``.

    Integers may be written to floating-point variables, and to smaller ones; floating-point
    numbers not to integers, nor numbers to truth values.
    """
    if isinstance(value, np.dtype):
        return bool(np.can_cast(value, target, "same_kind"))
    if is_index(value):
        return target.kind in "iufc"
    return target.kind in ("c" if value is complex else "fc")
