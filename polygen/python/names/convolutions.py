"""Convolutions, powers of matrices, polynomials and other products that are programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, constant_int
from polygen.python.names.programs import Array, program_row, run
from polygen.python.refused import Refused
from polygen.python.values import (
    Constant,
    Lazy,
    Value,
    View,
    affine_number,
)

_FULL, _SAME, _VALID = map(Constant, ("full", "same", "valid"))


def _convolved(a: Array, v: Array) -> Array:
    found = np.zeros(len(a) + len(v) - 1, (a[0] * v[0]).dtype)
    for i in range(len(a) + len(v) - 1):
        for k in range(max(0, i - len(a) + 1), min(i + 1, len(v))):
            found[i] += a[i - k] * v[k]
    return found


def _middle(found: Array, first: int, count: int) -> Array:
    return found[first : first + count].copy()


def _with_mode(kernel: Callable[..., Any], usual: Constant) -> Row:
    """Return the row of a convolution, which returns all elements or some in the middle."""

    def row(trace: Expressions, a: Value, v: Value, mode: Value = usual) -> Value:
        if len(getattr(a, "shape", ())) != 1 or len(getattr(v, "shape", ())) != 1:
            raise Refused("a convolution of what are no vectors")
        assert isinstance(a, Lazy | View)
        assert isinstance(v, Lazy | View)
        long, short = a.shape[0], v.shape[0]
        if mode not in (_FULL, _SAME, _VALID):
            raise Refused("a convolution of a mode that NumPy does not have")
        if trace.facts.holds(long.minus(short)) is not True:
            raise Refused("a convolution with a longer vector", "pass the longer one first")
        whole = run(trace, kernel, a, v)
        if mode == _FULL:
            return whole
        ends = short.minus(1)
        first, count = (ends.floor(2), long) if mode == _SAME else (ends, long.minus(ends))
        return run(trace, _middle, whole, affine_number(first), affine_number(count))

    return row


def _correlated(a: Array, v: Array) -> Array:
    found = np.zeros(len(a) + len(v) - 1, (a[0] * v[0]).dtype)
    for i in range(len(a) + len(v) - 1):
        for k in range(max(0, i - len(a) + 1), min(i + 1, len(v))):
            found[i] += a[i - k] * v[len(v) - 1 - k]
    return found


def matrix_power(trace: Expressions, a: Value, n: Value) -> Value:
    """Return ``np.linalg.matrix_power``: squares, and products of those that the power has."""
    power = constant_int(n)
    if power < 1:
        raise Refused("a matrix to a power below 1")
    found: Value | None = None
    square = a
    while power:
        if power % 2:
            found = square if found is None else trace.matrix_product(found, square)
        power //= 2
        square = trace.matrix_product(square, square) if power else square
    assert found is not None
    return found


def _polyval(p: Array, x: Array) -> Array:
    found = x * 0
    for k in range(len(p)):
        found = found * x + p[k]
    return found


def _cross(a: Array, b: Array) -> Array:
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def _kron(a: Array, b: Array) -> Array:
    whole = a[:, np.newaxis, :, np.newaxis] * b[np.newaxis, :, np.newaxis, :]
    return np.reshape(whole, (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))


ROWS: dict[Any, Row] = {
    np.convolve: _with_mode(_convolved, _FULL),
    np.correlate: _with_mode(_correlated, _VALID),
    np.linalg.matrix_power: matrix_power,
    np.polyval: program_row(_polyval),
    np.cross: program_row(_cross),
    np.kron: program_row(_kron),
}
