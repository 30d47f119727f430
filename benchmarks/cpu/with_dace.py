# mypy: ignore-errors
# DaCe reads annotations as values: shapes and types that are no types of Python's.
"""The kernels in DaCe: its NumPy and its maps, auto-optimized for the processor."""

from typing import Any

import dace
import numpy as np
from dace.transformation.auto.auto_optimize import auto_optimize

from benchmarks.cpu.data import Data, Run

# As C with OpenMP: values are as IEEE 754 has them, not those of -ffast-math.
_FLAGS = "-std=c++14 -fPIC -O3 -march=native -fno-math-errno -fno-trapping-math"
dace.Config.set("compiler", "cpu", "args", value=_FLAGS)
dace.Config.set("compiler", "use_cache", value=True)
dace.Config.set("compiler", "allow_view_arguments", value=True)
N, M, L, NNZ = (dace.symbol(s, dtype=dace.int64) for s in ("N", "M", "L", "NNZ"))
f4, f8, i4 = dace.float32, dace.float64, dace.int32


def _calling(program: Any, d: Data, names: str, results: str = "out", **sizes: int) -> Run:
    """Return what calls a program; names of arguments are the data's own."""
    optimized = auto_optimize(program.to_sdfg(simplify=True), dace.DeviceType.CPU)
    compiled = optimized.compile()
    given = {name: d[name] for name in names.split()} | sizes
    found = [d[name] for name in results.split()]

    def run() -> Any:
        compiled(**given)
        return found[0] if len(found) == 1 else tuple(found)

    return run


@dace.program
def _saxpy(a: f4, x: f4[N], out: f4[N]):
    for i in dace.map[0:N]:
        out[i] = a * x[i] + out[i]


def saxpy(d: Data) -> Run:
    return _calling(_saxpy, d, "a x out", N=len(d["x"]))


@dace.program
def _triad(b: f8[N], c: f8[N], s: f8, out: f8[N]):
    out[:] = b + s * c


def triad(d: Data) -> Run:
    return _calling(_triad, d, "b c s out", N=len(d["b"]))


@dace.program
def _stencil_5(a: f8[N, M], out: f8[N, M]):
    out[1:-1, 1:-1] = 0.2 * (
        a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[1:-1, 1:-1]
    )


def stencil_5(d: Data) -> Run:
    n, m = d["a"].shape
    return _calling(_stencil_5, d, "a out", N=n, M=m)


@dace.program
def _stencil_27(a: f8[N, M, L], w: f8[4], out: f8[N, M, L]):
    for i, j, k in dace.map[1 : N - 1, 1 : M - 1, 1 : L - 1]:
        out[i, j, k] = (
            w[0] * a[i, j, k]
            + w[1] * (
                a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k]
                + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
            )
            + w[2] * (
                a[i - 1, j - 1, k] + a[i - 1, j + 1, k] + a[i + 1, j - 1, k] + a[i + 1, j + 1, k]
                + a[i - 1, j, k - 1] + a[i - 1, j, k + 1] + a[i + 1, j, k - 1] + a[i + 1, j, k + 1]
                + a[i, j - 1, k - 1] + a[i, j - 1, k + 1] + a[i, j + 1, k - 1] + a[i, j + 1, k + 1]
            )
            + w[3] * (
                a[i - 1, j - 1, k - 1] + a[i - 1, j - 1, k + 1]
                + a[i - 1, j + 1, k - 1] + a[i - 1, j + 1, k + 1]
                + a[i + 1, j - 1, k - 1] + a[i + 1, j - 1, k + 1]
                + a[i + 1, j + 1, k - 1] + a[i + 1, j + 1, k + 1]
            )
        )  # fmt: skip


def stencil_27(d: Data) -> Run:
    n, m, l = d["a"].shape  # noqa: E741
    return _calling(_stencil_27, d, "a w out", N=n, M=m, L=l)


@dace.program
def _softmax(x: f4[N, M], out: f4[N, M]):
    for i in dace.map[0:N]:
        most = np.max(x[i])
        powers = np.exp(x[i] - most)
        total = np.sum(powers)
        out[i] = powers / total


def softmax(d: Data) -> Run:
    n, m = d["x"].shape
    return _calling(_softmax, d, "x out", N=n, M=m)


@dace.program
def _csr_product(rowptr: i4[N + 1], columns: i4[NNZ], values: f8[NNZ], x: f8[N], out: f8[N]):
    for i in dace.map[0:N]:
        total = 0.0
        for j in range(rowptr[i], rowptr[i + 1]):
            total += values[j] * x[columns[j]]
        out[i] = total


def csr_product(d: Data) -> Run:
    sizes = {"N": len(d["out"]), "NNZ": len(d["values"])}
    return _calling(_csr_product, d, "rowptr columns values x out", **sizes)


@dace.program
def _syrk(a: f8[N, M], alpha: f8, beta: f8, out: f8[N, N]):
    for i in dace.map[0:N]:
        out[i, : i + 1] *= beta
        for k in range(M):
            out[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


def syrk(d: Data) -> Run:
    n, m = d["a"].shape
    return _calling(_syrk, d, "a alpha beta out", N=n, M=m)


@dace.program
def _jacobi_2d(steps: dace.int64, out: f8[N, M], b: f8[N, M]):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            out[1:-1, 1:-1] + out[1:-1, :-2] + out[1:-1, 2:] + out[2:, 1:-1] + out[:-2, 1:-1]
        )
        out[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


def jacobi_2d(d: Data) -> Run:
    n, m = d["out"].shape
    return _calling(_jacobi_2d, d, "steps out b", N=n, M=m)


@dace.program
def _heat_3d(steps: dace.int64, out: f8[N, M, L], b: f8[N, M, L]):
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (out[2:, 1:-1, 1:-1] - 2.0 * out[1:-1, 1:-1, 1:-1] + out[:-2, 1:-1, 1:-1])
            + 0.125 * (out[1:-1, 2:, 1:-1] - 2.0 * out[1:-1, 1:-1, 1:-1] + out[1:-1, :-2, 1:-1])
            + 0.125 * (out[1:-1, 1:-1, 2:] - 2.0 * out[1:-1, 1:-1, 1:-1] + out[1:-1, 1:-1, :-2])
            + out[1:-1, 1:-1, 1:-1]
        )
        out[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )


def heat_3d(d: Data) -> Run:
    n, m, l = d["out"].shape  # noqa: E741
    return _calling(_heat_3d, d, "steps out b", N=n, M=m, L=l)


@dace.program
def _floyd_warshall(start: i4[N, N], out: i4[N, N]):
    out[:] = start
    for k in range(N):
        for i, j in dace.map[0:N, 0:N]:
            out[i, j] = min(out[i, j], out[i, k] + out[k, j])


def floyd_warshall(d: Data) -> Run:
    return _calling(_floyd_warshall, d, "start out", N=len(d["out"]))


@dace.program
def _black_scholes(
    price: f8[N], strike: f8[N], years: f8[N], rate: f8, volatility: f8, out: f8[N], put: f8[N]
):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    now = strike * np.exp(-rate * years)
    k1 = 1.0 / (1.0 + 0.2316419 * np.abs(d1))
    k2 = 1.0 / (1.0 + 0.2316419 * np.abs(d2))
    p1 = (1.330274429 * k1 - 1.821255978) * k1 + 1.781477937
    p2 = (1.330274429 * k2 - 1.821255978) * k2 + 1.781477937
    q1 = (p1 * k1 - 0.356563782) * k1 + 0.319381530
    q2 = (p2 * k2 - 0.356563782) * k2 + 0.319381530
    tail1 = 0.3989422804014327 * np.exp(-0.5 * d1 * d1) * (q1 * k1)
    tail2 = 0.3989422804014327 * np.exp(-0.5 * d2 * d2) * (q2 * k2)
    below1 = np.where(d1 > 0.0, 1.0 - tail1, tail1)
    below2 = np.where(d2 > 0.0, 1.0 - tail2, tail2)
    out[:] = price * below1 - now * below2
    put[:] = now * (1.0 - below2) - price * (1.0 - below1)


def black_scholes(d: Data) -> Run:
    names = "price strike years rate volatility out put"
    return _calling(_black_scholes, d, names, "out put", N=len(d["price"]))


@dace.program
def _mandelbrot(x: f8[M], y: f8[N], limit: dace.int64, out: i4[N, M]):
    for i, j in dace.map[0:N, 0:M]:
        a = x[j]
        b = y[i]
        count = 0
        while count < limit and a * a + b * b <= 4.0:
            new_a = a * a - b * b + x[j]
            b = 2.0 * a * b + y[i]
            a = new_a
            count = count + 1
        out[i, j] = count


def mandelbrot(d: Data) -> Run:
    return _calling(_mandelbrot, d, "x y limit out", N=len(d["y"]), M=len(d["x"]))


# No products: DaCe calls a BLAS for them, which has to be installed for its headers; its own loops
# take a thousand times as long.
