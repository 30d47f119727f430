"""NumPy's functions that return the same elements in a copy, of another type, or parts of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, array_of, converted, dtype_of
from polygen.python.refused import Refused
from polygen.python.values import Constant, Lazy, Number, Value, View, constant_number


def _copy(trace: Expressions, value: Value, **_named: Any) -> Value:
    given = array_of(trace, value)
    if isinstance(given, Number):
        return given
    return trace.copied(given)


def _as_array(trace: Expressions, value: Value, dtype: Value | None = None, **_named: Any) -> Value:
    given = array_of(trace, value)
    if dtype is None or dtype == Constant(None) or dtype_of(dtype) == given.dtype:
        return given
    return converted(given, dtype_of(dtype))


def _array(trace: Expressions, value: Value, dtype: Value | None = None, **_named: Any) -> Value:
    given = _as_array(trace, value, dtype)
    return trace.copied(given) if isinstance(given, View) else given


def _astype(trace: Expressions, value: Value, dtype: Value, **_named: Any) -> Value:
    return converted(array_of(trace, value), dtype_of(dtype))


def _real(trace: Expressions, value: Value) -> Value:
    return _part_of_complex(trace, value, "real")


def _imag(trace: Expressions, value: Value) -> Value:
    return _part_of_complex(trace, value, "imag")


def _part_of_complex(trace: Expressions, value: Value, name: str) -> Value:
    given = array_of(trace, value)
    if given.dtype.kind != "c":
        if name == "real":
            return given
        raise Refused("the imaginary part of a real number")
    dtype = np.dtype("float32" if given.dtype.itemsize == 8 else "float64")
    call = ex.Variable(name)
    if isinstance(given, Number):
        if given.is_constant:
            return constant_number(getattr(given.value, name))
        return Number(dtype, given.weak, ex.Call(call, (given.element(),)))
    own = given
    if isinstance(own, View):
        recipe = None if own.recipe is None else (*own.recipe, ("attribute", name))
        return replace(own, part=name, recipe=recipe, is_whole=False)
    return Lazy(dtype, given.shape, lambda i: ex.Call(call, (own.element(i),)))


def _typed_call(dtype: type[np.generic]) -> Row:
    def row(trace: Expressions, value: Value) -> Value:
        return converted(array_of(trace, value), np.dtype(dtype))

    return row


def _dtype(_trace: Expressions, value: Any) -> Value:
    return Constant(dtype_of(value))


_KINDS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip
ROWS: dict[Any, Row] = {
    np.copy: _copy,
    np.array: _array,
    np.asarray: _as_array,
    np.ascontiguousarray: _as_array,
    np.real: _real,
    np.imag: _imag,
    np.dtype: _dtype,
    **{kind: _typed_call(kind) for kind in _KINDS},
}
METHODS: dict[str, Any] = {"copy": np.copy}
OWN_METHODS: dict[str, Row] = {"astype": _astype}
