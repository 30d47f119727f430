"""The kernels in Numba: explicit loops, in parallel over the outermost one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import prange

from benchmarks.cpu.data import Data, Run

# As C with OpenMP: values are as IEEE 754 has them, but that a product may be fused with a sum.
_jit: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    parallel=True, fastmath={"contract"}, error_model="numpy", cache=True
)
_plain: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    fastmath={"contract"}, error_model="numpy", cache=True
)


def _calling(function: Callable[..., Any], d: Data, names: str, results: str = "out") -> Run:
    given = [d[name] for name in names.split()]
    found = [d[name] for name in results.split()]

    def run() -> Any:
        function(*given)
        return found[0] if len(found) == 1 else tuple(found)

    return run


@_jit
def _saxpy(a: Any, x: Any, y: Any) -> None:
    for i in prange(x.shape[0]):
        y[i] = a * x[i] + y[i]


def saxpy(d: Data) -> Run:
    return _calling(_saxpy, d, "a x out")


@_jit
def _triad(b: Any, c: Any, s: Any, out: Any) -> None:
    for i in prange(b.shape[0]):
        out[i] = b[i] + s * c[i]


def triad(d: Data) -> Run:
    return _calling(_triad, d, "b c s out")


@_jit
def _stencil_5(a: Any, out: Any) -> None:
    n, m = a.shape
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.2 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + a[i, j])


def stencil_5(d: Data) -> Run:
    return _calling(_stencil_5, d, "a out")


@_jit
def _stencil_27(a: Any, w: Any, out: Any) -> None:
    n, m, l = a.shape  # noqa: E741
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            for k in range(1, l - 1):
                faces = (
                    a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k]
                    + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
                )  # fmt: skip
                edges = (
                    a[i - 1, j - 1, k] + a[i - 1, j + 1, k]
                    + a[i + 1, j - 1, k] + a[i + 1, j + 1, k]
                    + a[i - 1, j, k - 1] + a[i - 1, j, k + 1]
                    + a[i + 1, j, k - 1] + a[i + 1, j, k + 1]
                    + a[i, j - 1, k - 1] + a[i, j - 1, k + 1]
                    + a[i, j + 1, k - 1] + a[i, j + 1, k + 1]
                )  # fmt: skip
                corners = (
                    a[i - 1, j - 1, k - 1] + a[i - 1, j - 1, k + 1]
                    + a[i - 1, j + 1, k - 1] + a[i - 1, j + 1, k + 1]
                    + a[i + 1, j - 1, k - 1] + a[i + 1, j - 1, k + 1]
                    + a[i + 1, j + 1, k - 1] + a[i + 1, j + 1, k + 1]
                )  # fmt: skip
                out[i, j, k] = w0 * a[i, j, k] + w1 * faces + w2 * edges + w3 * corners


def stencil_27(d: Data) -> Run:
    return _calling(_stencil_27, d, "a w out")


@_jit
def _softmax(x: Any, out: Any) -> None:
    for i in prange(x.shape[0]):
        most = x[i, 0]
        for j in range(x.shape[1]):
            most = max(most, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - most)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total


def softmax(d: Data) -> Run:
    return _calling(_softmax, d, "x out")


@_jit
def _csr_product(rowptr: Any, columns: Any, values: Any, x: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        total = 0.0
        for j in range(rowptr[i], rowptr[i + 1]):
            total += values[j] * x[columns[j]]
        out[i] = total


def csr_product(d: Data) -> Run:
    return _calling(_csr_product, d, "rowptr columns values x out")


@_jit
def _syrk(a: Any, alpha: Any, beta: Any, c: Any) -> None:
    for i in prange(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]


def syrk(d: Data) -> Run:
    return _calling(_syrk, d, "a alpha beta out")


@_jit
def _jacobi_2d(steps: Any, a: Any, b: Any) -> None:
    n, m = a.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


def jacobi_2d(d: Data) -> Run:
    return _calling(_jacobi_2d, d, "steps out b")


@_jit
def _heat_3d(steps: Any, a: Any, b: Any) -> None:
    n, m, l = a.shape  # noqa: E741
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, l - 1):
                    b[i, j, k] = (
                        0.125 * (a[i + 1, j, k] - 2 * a[i, j, k] + a[i - 1, j, k])
                        + 0.125 * (a[i, j + 1, k] - 2 * a[i, j, k] + a[i, j - 1, k])
                        + 0.125 * (a[i, j, k + 1] - 2 * a[i, j, k] + a[i, j, k - 1])
                        + a[i, j, k]
                    )
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, l - 1):
                    a[i, j, k] = (
                        0.125 * (b[i + 1, j, k] - 2 * b[i, j, k] + b[i - 1, j, k])
                        + 0.125 * (b[i, j + 1, k] - 2 * b[i, j, k] + b[i, j - 1, k])
                        + 0.125 * (b[i, j, k + 1] - 2 * b[i, j, k] + b[i, j, k - 1])
                        + b[i, j, k]
                    )


def heat_3d(d: Data) -> Run:
    return _calling(_heat_3d, d, "steps out b")


@_jit
def _floyd_warshall(start: Any, path: Any) -> None:
    n = path.shape[0]
    for i in prange(n):
        for j in range(n):
            path[i, j] = start[i, j]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def floyd_warshall(d: Data) -> Run:
    return _calling(_floyd_warshall, d, "start out")


@_plain
def _cumulative(x: Any) -> Any:
    k = 1 / (1 + 0.2316419 * abs(x))
    powers = 1.330274429 * k - 1.821255978
    powers = ((powers * k + 1.781477937) * k - 0.356563782) * k + 0.319381530
    tail = 0.3989422804014327 * math.exp(-0.5 * x * x) * (powers * k)
    return 1 - tail if x > 0 else tail


@_jit
def _black_scholes(
    price: Any, strike: Any, years: Any, rate: Any, volatility: Any, call: Any, put: Any
) -> None:
    for i in prange(price.shape[0]):
        spread = volatility * math.sqrt(years[i])
        drift = (rate + 0.5 * volatility * volatility) * years[i]
        d1 = (math.log(price[i] / strike[i]) + drift) / spread
        now = strike[i] * math.exp(-rate * years[i])
        below1, below2 = _cumulative(d1), _cumulative(d1 - spread)
        call[i] = price[i] * below1 - now * below2
        put[i] = now * (1 - below2) - price[i] * (1 - below1)


def black_scholes(d: Data) -> Run:
    names = "price strike years rate volatility out put"
    return _calling(_black_scholes, d, names, "out put")


@_jit
def _mandelbrot(x: Any, y: Any, limit: Any, out: Any) -> None:
    for i in prange(y.shape[0]):
        for j in range(x.shape[0]):
            a, b, count = x[j], y[i], 0
            while count < limit and a * a + b * b <= 4:
                a, b = a * a - b * b + x[j], 2 * a * b + y[i]
                count += 1
            out[i, j] = count


def mandelbrot(d: Data) -> Run:
    return _calling(_mandelbrot, d, "x y limit out")


@_plain
def _product(a: Any, b: Any, out: Any) -> None:
    np.dot(a, b, out)  # Numba calls SciPy's BLAS


def product_32(d: Data) -> Run:
    return _calling(_product, d, "a b out")


product_64 = product_32
