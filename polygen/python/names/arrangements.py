"""NumPy's functions that arrange elements, and are programs of the language."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.names.programs import Array, program_row, run
from polygen.python.refused import Refused
from polygen.python.values import (
    Number,
    Value,
)


def _meshgrid(x: Array, y: Array) -> Array:
    across = np.empty((len(y), len(x)), x.dtype)
    down = np.empty((len(y), len(x)), y.dtype)
    across[...] = x
    down[...] = y[:, np.newaxis]
    return across, down


def _logspace(start: float, stop: float, num: int = 50, base: float = 10.0) -> Array:
    return np.power(base, np.linspace(start, stop, num))


def _tri(N: int, M: Any = None, k: int = 0) -> Array:  # noqa: N803  (NumPy's)
    return np.tril(np.ones((N, N if M is None else M)), k)


def _fliplr(m: Array) -> Array:
    return m[:, ::-1]


def _flipud(m: Array) -> Array:
    return m[::-1]


def _rot90(m: Array) -> Array:
    return m[:, ::-1].T


def _append(arr: Array, values: Array) -> Array:
    return np.concatenate((np.ravel(arr), np.ravel(values)))


def _gradient(f: Array, step: float = 1.0) -> Array:
    found = np.empty(len(f))
    found[1:-1] = (f[2:] - f[:-2]) / (2.0 * step)
    found[0] = (f[1] - f[0]) / step
    found[-1] = (f[-1] - f[-2]) / step
    return found


def _neighbours_apart(ary: Array) -> Array:
    return np.diff(np.ravel(ary))


def _taken(a: Array, indices: Array) -> Array:
    return a[indices]


def take(trace: Expressions, a: Value, indices: Value, axis: Value | None = None) -> Value:
    """Return ``np.take`` along the first axis."""
    rank = len(getattr(a, "shape", ()))
    is_first = isinstance(axis, Number) and axis.is_constant and axis.value == 0
    if rank != 1 and not is_first:
        raise Refused("np.take along another axis than the first", "write a subscript")
    return run(trace, _taken, a, indices)


def _size(a: Array) -> Any:
    return a.size


def _shape(a: Array) -> Any:
    return a.shape


def _ndim(a: Array) -> Any:
    return a.ndim


ROWS: dict[Any, Row] = {
    np.meshgrid: program_row(_meshgrid),
    np.logspace: program_row(_logspace),
    np.tri: program_row(_tri),
    np.fliplr: program_row(_fliplr),
    np.flipud: program_row(_flipud),
    np.rot90: program_row(_rot90),
    np.append: program_row(_append),
    np.gradient: program_row(_gradient),
    np.ediff1d: program_row(_neighbours_apart),
    np.size: program_row(_size),
    np.shape: program_row(_shape),
    np.ndim: program_row(_ndim),
    np.take: take,
}
