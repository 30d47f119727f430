"""NumPy's functions of elements, sums and extremes that are programs of the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.names.programs import NONE, Array, is_given, program_row, run
from polygen.python.refused import Refused
from polygen.python.values import (
    Number,
    Value,
)

# --- element by element


def _isclose(a: Array, b: Array, rtol: float = 1e-5, atol: float = 1e-8) -> Array:
    near = np.abs(a - b) <= atol + rtol * np.abs(b)
    return near & np.isfinite(b) | (a == b)


def _allclose(a: Array, b: Array, rtol: float = 1e-5, atol: float = 1e-8) -> Array:
    near = np.abs(a - b) <= atol + rtol * np.abs(b)
    return bool(np.all(near & np.isfinite(b) | (a == b)))


def _sinc(x: Array) -> Array:
    y = np.pi * np.where(x == 0, 1, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)


def _float_power(x1: Array, x2: Array) -> Array:
    return np.power(x1 * np.float64(1.0), x2 * np.float64(1.0))


def _angle(z: Array) -> Array:
    return np.arctan2(z.imag, z.real)


def _both_quotients(x1: Array, x2: Array) -> Array:
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


def _isin(element: Array, test_elements: Array) -> Array:
    tests = np.ravel(test_elements)
    found = np.zeros_like(element, dtype=np.bool_)
    for k in range(len(tests)):
        found = found | (element == tests[k])
    return found


# --- sums and extremes


def _array_equal(a1: Array, a2: Array) -> Array:
    return bool(np.all(a1 == a2))


def _ptp(a: Array, axis: Any = None) -> Array:
    return np.max(a, axis=axis) - np.min(a, axis=axis)


def _weighted_average(a: Array, axis: Any, weights: Array) -> Array:
    return np.sum(a * weights, axis=axis) / np.sum(weights, axis=axis)


def average(
    trace: Expressions, a: Value, axis: Value = NONE, weights: Value | None = None
) -> Value:
    """Return ``np.average``: weights have the shape of the array."""
    if weights is None or not is_given(weights):
        return trace.called(np.mean, [a], axis=axis)
    if getattr(a, "shape", None) != getattr(weights, "shape", None):
        raise Refused("np.average with weights of another shape", "broadcast them")
    return run(trace, _weighted_average, a, axis, weights)


def _nansum(a: Array, axis: Any = None) -> Array:
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis)


def _nanmax(a: Array, axis: Any = None) -> Array:
    found = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis)
    return np.where(np.all(np.isnan(a), axis=axis), np.nan, found)


def _nanmin(a: Array, axis: Any = None) -> Array:
    found = np.min(np.where(np.isnan(a), np.inf, a), axis=axis)
    return np.where(np.all(np.isnan(a), axis=axis), np.nan, found)


def _nanprod(a: Array, axis: Any = None) -> Array:
    return np.prod(np.where(np.isnan(a), 1, a), axis=axis)  # pyright: ignore[reportUnknownVariableType]


def _nanmean(a: Array, axis: Any = None) -> Array:
    total = np.sum(np.where(np.isnan(a), 0, a), axis=axis)
    return total / np.sum(~np.isnan(a), axis=axis)


def _cov_of_rows(m: Array) -> Array:
    beyond = m - np.mean(m, axis=1, keepdims=True)
    return beyond @ beyond.T / (m.shape[1] - 1)


def _corrcoef_of_rows(m: Array) -> Array:
    beyond = m - np.mean(m, axis=1, keepdims=True)
    found = beyond @ beyond.T / (m.shape[1] - 1)
    deviations = np.sqrt(np.diag(found))
    return np.clip(found / deviations[:, np.newaxis] / deviations, -1.0, 1.0)


def _turned(m: Array) -> Array:
    return m.T


def _of_rows(program: Callable[..., Any], name: str) -> Row:
    """Return a row about variables that are the rows of a matrix, or its columns."""

    def row(trace: Expressions, m: Value, *, rowvar: Value | None = None) -> Value:
        if getattr(m, "dtype", None) is None or len(getattr(m, "shape", ())) != 2:
            raise Refused(f"np.{name} of what is no matrix")
        if rowvar is not None and not (isinstance(rowvar, Number) and rowvar.is_constant):
            raise Refused("an option is no constant")
        by_columns = isinstance(rowvar, Number) and not rowvar.value
        return run(trace, program, run(trace, _turned, m) if by_columns else m)

    return row


def _vector_norm(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))


def norm(
    trace: Expressions,
    x: Value,
    ord: Value | None = None,  # noqa: A002  (NumPy's name)
    axis: Value = NONE,
    **named: Value,
) -> Value:
    """Return ``np.linalg.norm``: the root of the sum of squares."""
    if is_given(ord):
        raise Refused("np.linalg.norm of another order than 2", "write np.abs(x).sum() or .max()")
    return run(trace, _vector_norm, x, axis=axis, **named)


def _dot_of_conjugates(a: Array, b: Array) -> Array:
    return np.sum(np.ravel(np.conj(a)) * np.ravel(b))


def _trapezoid_of_steps(y: Array, dx: float = 1.0) -> Array:
    return np.sum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


def _trapezoid_of_places(y: Array, x: Array) -> Array:
    return np.sum((x[1:] - x[:-1]) * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


def trapezoid(trace: Expressions, y: Value, x: Value | None = None, **named: Value) -> Value:
    """Return ``np.trapezoid`` along the last axis."""
    if x is not None and is_given(x):
        return run(trace, _trapezoid_of_places, y, x, **named)
    return run(trace, _trapezoid_of_steps, y, **named)


def _of_real(program: Callable[..., Any], of_integers: Any) -> Row:
    """Return the row of a function that leaves out NaNs, of which integers have none."""

    def row(trace: Expressions, a: Value, axis: Value = NONE) -> Value:
        dtype = getattr(a, "dtype", None)
        if dtype is not None and dtype.kind in "biu":
            return trace.called(of_integers, [a], axis=axis)
        return run(trace, program, a, axis)

    return row


ROWS: dict[Any, Row] = {
    np.isclose: program_row(_isclose),
    np.allclose: program_row(_allclose),
    np.sinc: program_row(_sinc),
    np.float_power: program_row(_float_power),
    np.angle: program_row(_angle),
    np.divmod: program_row(_both_quotients),
    np.isin: program_row(_isin),
    np.array_equal: program_row(_array_equal),
    np.ptp: program_row(_ptp),
    np.nansum: program_row(_nansum),
    np.nanmax: _of_real(_nanmax, np.max),
    np.nanmin: _of_real(_nanmin, np.min),
    np.nanprod: program_row(_nanprod),
    np.nanmean: program_row(_nanmean),
    np.vdot: program_row(_dot_of_conjugates),
    np.average: average,
    np.cov: _of_rows(_cov_of_rows, "cov"),
    np.corrcoef: _of_rows(_corrcoef_of_rows, "corrcoef"),
    np.linalg.norm: norm,
    np.trapezoid: trapezoid,
}
