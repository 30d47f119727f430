"""Reductions in Numba: explicit loops, in parallel over results or parts, as memory lies.

Sums may be added up in another order, so that they become vectors, as in polygen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import groupby
from math import prod
from typing import Any

import numba
import numpy as np
from numba import prange

from benchmarks.cpu.data import Run
from benchmarks.cpu.reductions.data import Reduction, array_of, result_type

_FAST = {"contract", "reassoc"}
_jit: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    parallel=True, fastmath=_FAST, error_model="numpy"
)
_one: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(fastmath=_FAST)
_PART, _PARTS, _BLOCK = 1 << 15, 128, 4096


@_one
def _sum(x: Any, y: Any) -> Any:
    return x + y


@_one
def _product(x: Any, y: Any) -> Any:
    return x * y


@_one
def _max(x: Any, y: Any) -> Any:
    return y if y > x or y != y else x  # noqa: PLR0124  (no number is not itself)


@_one
def _min(x: Any, y: Any) -> Any:
    return y if y < x or y != y else x  # noqa: PLR0124


@_one
def _any(x: Any, y: Any) -> Any:
    return x or y


_COMBINE = {"sum": _sum, "product": _product, "max": _max, "min": _min, "any": _any}


@cache
def _over_all(combine: Any) -> Callable[..., Any]:
    @_jit
    def run(a: Any, start: Any, out: Any) -> None:
        n = a.shape[0]
        count = (n + _PART - 1) // _PART
        parts = np.empty(count, out.dtype)
        for part in prange(count):
            total = start
            for i in range(part * _PART, min(n, (part + 1) * _PART)):
                total = combine(total, a[i])
            parts[part] = total
        total = start
        for part in range(count):
            total = combine(total, parts[part])
        out[0] = total

    return run


@cache
def _rows(combine: Any) -> Callable[..., Any]:
    @_jit
    def run(a: Any, start: Any, out: Any) -> None:
        n, m = a.shape
        for i in prange(n):
            total = start
            for j in range(m):
                total = combine(total, a[i, j])
            out[i] = total

    return run


@cache
def _long_rows(combine: Any) -> Callable[..., Any]:
    over_all = _over_all(combine)

    def run(a: Any, start: Any, out: Any) -> None:
        for i in range(len(a)):
            over_all(a[i], start, out[i : i + 1])

    return run


@cache
def _columns(combine: Any) -> Callable[..., Any]:
    @_jit
    def run(a: Any, start: Any, out: Any) -> None:
        n, m = a.shape
        rows = (n + _PARTS - 1) // _PARTS
        parts = np.empty((_PARTS, m), out.dtype)
        for part in prange(_PARTS):
            own = parts[part]
            own[:] = start
            for i in range(part * rows, min(n, (part + 1) * rows)):
                for j in range(m):
                    own[j] = combine(own[j], a[i, j])
        out[:] = start
        for part in range(_PARTS):
            for j in range(m):
                out[j] = combine(out[j], parts[part, j])

    return run


@cache
def _long_columns(combine: Any) -> Callable[..., Any]:
    @_jit
    def run(a: Any, start: Any, out: Any) -> None:
        n, m = a.shape
        for block in prange((m + _BLOCK - 1) // _BLOCK):
            last = min(m, (block + 1) * _BLOCK)
            out[block * _BLOCK : last] = start
            for i in range(n):
                for j in range(block * _BLOCK, last):
                    out[j] = combine(out[j], a[i, j])

    return run


@cache
def _between(combine: Any) -> Callable[..., Any]:
    @_jit
    def run(a: Any, start: Any, out: Any) -> None:
        n, m, l = a.shape  # noqa: E741
        for j in prange(m):
            total = start
            for i in range(n):
                for k in range(l):
                    total = combine(total, a[i, j, k])
            out[j] = total

    return run


def _form(one: Reduction) -> tuple[tuple[int, ...], Callable[[Any], Callable[..., Any]]]:
    """Return the shape without axes that can be joined, and the loops for it."""
    axes = range(len(one.shape))
    joined = [(over, [*group]) for over, group in groupby(axes, lambda axis: axis in one.axes)]
    shape = tuple(prod(one.shape[axis] for axis in group) for _, group in joined)
    order = [over for over, _ in joined]
    if order == [True]:
        return shape, _over_all
    if order == [False, True]:
        return shape, _rows if shape[0] > 16 else _long_rows
    if order == [True, False]:
        return shape, _columns if shape[0] >= _PARTS else _long_columns
    assert order == [True, False, True]
    return shape, _between


def prepare(one: Reduction) -> Run:
    """Return what reduces an array."""
    shape, loops = _form(one)
    a, out = array_of(one).reshape(shape), np.zeros(one.kept, result_type(one))
    reduce, flat = loops(_COMBINE[one.operation]), out.reshape(-1)
    least = -np.inf if one.dtype.startswith("float") else None
    starts = {"sum": 0, "product": 1, "any": False, "max": least, "min": np.iinfo("int32").max}
    start = out.dtype.type(starts[one.operation])

    def run() -> Any:
        reduce(a, start, flat)
        return out

    return run
