"""Where values are in sorted ones, and in bins: `np.searchsorted`, `np.interp`, `np.histogram`."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.names.programs import Array, is_given, program_row, run
from polygen.python.refused import Refused
from polygen.python.values import (
    Constant,
    Number,
    Several,
    Value,
    constant_number,
)

_TEN, _LEFT = constant_number(10), Constant("left")
_NARROW = {np.dtype("float16"), np.dtype("float32")}  # their edges are narrow, too


def _from_left(a: Array, v: Array) -> Array:
    found = np.empty(len(v), np.int64)
    for i in range(len(v)):
        low, high = 0, len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] < v[i] or (v[i] != v[i] and a[middle] == a[middle]):
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def _from_right(a: Array, v: Array) -> Array:
    found = np.empty(len(v), np.int64)
    for i in range(len(v)):
        low, high = 0, len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] <= v[i] or v[i] != v[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def searchsorted(trace: Expressions, a: Value, v: Value, side: Value = _LEFT) -> Value:
    """Return ``np.searchsorted`` of a vector in a vector."""
    if len(getattr(a, "shape", ())) != 1 or len(getattr(v, "shape", ())) != 1:
        raise Refused("np.searchsorted of what are no vectors")
    return run(trace, _from_right if side == Constant("right") else _from_left, a, v)


def _interp(x: Array, xp: Array, fp: Array) -> Array:
    found = np.empty(len(x))
    last = len(xp) - 1
    for i in range(len(x)):
        low, high = 0, last + 1
        while low < high:
            middle = (low + high) // 2
            if xp[middle] <= x[i]:
                low = middle + 1
            else:
                high = middle
        if x[i] != x[i]:
            found[i] = x[i]
        elif low == 0:
            found[i] = fp[0]
        elif low > last:
            found[i] = fp[last]
        else:
            slope = (fp[low] - fp[low - 1]) / (xp[low] - xp[low - 1])
            found[i] = slope * (x[i] - xp[low - 1]) + fp[low - 1]
    return found


def _counted(a: Array, edges: Array, bins: int) -> Array:
    flat = np.ravel(a)
    counts = np.zeros(bins, np.int64)
    low, high = edges[0], edges[bins]
    for i in range(len(flat)):
        x = flat[i]
        if x >= low and x <= high:
            place = min(int((x - low) / (high - low) * bins), bins - 1)
            if x < edges[place]:
                place -= 1
            elif place < bins - 1 and x >= edges[place + 1]:
                place += 1
            counts[place] += 1
    return counts


def _weighed(a: Array, edges: Array, bins: int, weights: Array) -> Array:
    flat, heavy = np.ravel(a), np.ravel(weights)
    counts = np.zeros(bins, heavy.dtype)
    low, high = edges[0], edges[bins]
    for i in range(len(flat)):
        x = flat[i]
        if x >= low and x <= high:
            place = min(int((x - low) / (high - low) * bins), bins - 1)
            if x < edges[place]:
                place -= 1
            elif place < bins - 1 and x >= edges[place + 1]:
                place += 1
            counts[place] += heavy[i]
    return counts


def _edges_between(low: float, high: float, bins: int) -> Array:
    if low == high:
        low = low - 0.5
        high = high + 0.5
    return np.linspace(low, high, bins + 1)


def _least_and_largest(a: Array) -> Any:
    return float(np.min(a)), float(np.max(a))


def histogram(
    trace: Expressions,
    a: Value,
    bins: Value | None = None,
    range: Value | None = None,  # noqa: A002  (NumPy's name)
    *,
    weights: Value | None = None,
) -> Value:
    """Return ``np.histogram`` of bins of one width."""
    dtype, bins = getattr(a, "dtype", None), bins or _TEN
    if dtype is None or dtype.kind not in "iuf" or dtype in _NARROW:
        raise Refused(f"np.histogram of {dtype}", "convert to float64 before")
    if not isinstance(bins, Number) or bins.dtype.kind not in "iu":
        raise Refused("np.histogram of bins whose edges are given", "use np.searchsorted")
    if range is not None and is_given(range):
        if not isinstance(range, Several) or len(range.parts) != 2:
            raise Refused("the range of np.histogram is no pair")
        ends: Any = range
    else:
        ends = run(trace, _least_and_largest, a)
        for end in ends.parts:
            is_finite = trace.called(np.isfinite, [end])
            assert isinstance(is_finite, Number)
            is_none = ex.LogicalNot(is_finite.element())
            trace.fault(is_none, ValueError, "the range of bins is not finite")
    edges = run(trace, _edges_between, *ends.parts, bins)
    if weights is not None and is_given(weights):
        return Several((run(trace, _weighed, a, edges, bins, weights), edges))
    return Several((run(trace, _counted, a, edges, bins), edges))


ROWS: dict[Any, Row] = {
    np.searchsorted: searchsorted,
    np.interp: program_row(_interp),
    np.histogram: histogram,
}
