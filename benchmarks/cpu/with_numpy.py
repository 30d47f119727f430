"""The kernels in NumPy, outputs in place where it can; rows of a sparse matrix are SciPy's."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from benchmarks.cpu.data import Data, Run

Array: TypeAlias = Any


def saxpy(d: Data) -> Run:
    a, x, y = d["a"], d["x"], d["out"]
    scaled = np.empty_like(x)

    def run() -> Array:
        np.multiply(a, x, out=scaled)
        return np.add(y, scaled, out=y)

    return run


def triad(d: Data) -> Run:
    b, c, s, out = d["b"], d["c"], d["s"], d["out"]

    def run() -> Array:
        np.multiply(c, s, out=out)
        return np.add(b, out, out=out)

    return run


def stencil_5(d: Data) -> Run:
    a, out = d["a"], d["out"]
    inside = out[1:-1, 1:-1]

    def run() -> Array:
        np.add(a[:-2, 1:-1], a[2:, 1:-1], out=inside)
        np.add(inside, a[1:-1, :-2], out=inside)
        np.add(inside, a[1:-1, 2:], out=inside)
        np.add(inside, a[1:-1, 1:-1], out=inside)
        np.multiply(inside, 0.2, out=inside)
        return out

    return run


def stencil_27(d: Data) -> Run:
    a, w, out = d["a"], d["w"], d["out"]
    inside = out[1:-1, 1:-1, 1:-1]
    part, term = np.empty_like(inside), np.empty_like(inside)
    shifts = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    by_distance = [[s for s in shifts if sum(map(abs, s)) == far] for far in range(4)]

    def run() -> Array:
        inside[...] = 0
        for far, group in enumerate(by_distance):
            part[...] = 0
            for shift in group:
                window = tuple(slice(1 + s, n - 1 + s) for s, n in zip(shift, a.shape, strict=True))
                np.add(part, a[window], out=part)
            np.multiply(part, w[far], out=term)
            np.add(inside, term, out=inside)
        return out

    return run


def softmax(d: Data) -> Run:
    x, out = d["x"], d["out"]

    def run() -> Array:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    return run


def csr_product(d: Data) -> Run:
    n = len(d["x"])
    matrix = scipy.sparse.csr_array((d["values"], d["columns"], d["rowptr"]), shape=(n, n))
    x = d["x"]
    return lambda: matrix @ x


def syrk(d: Data) -> Run:
    a, alpha, beta, c = d["a"], d["alpha"], d["beta"], d["out"]
    square = np.empty_like(c)
    lower = np.tril(np.ones(c.shape, dtype=bool))

    def run() -> Array:
        np.matmul(a, a.T, out=square)  # BLAS computes one half
        np.multiply(square, alpha, out=square)
        np.multiply(c, beta, out=c, where=lower)
        return np.add(c, square, out=c, where=lower)

    return run


def jacobi_2d(d: Data) -> Run:
    a, b, steps = d["out"], d["b"], d["steps"]

    def step(now: Array, then: Array) -> None:
        new = then[1:-1, 1:-1]
        np.add(now[1:-1, 1:-1], now[1:-1, :-2], out=new)
        np.add(new, now[1:-1, 2:], out=new)
        np.add(new, now[2:, 1:-1], out=new)
        np.add(new, now[:-2, 1:-1], out=new)
        np.multiply(new, 0.2, out=new)

    def run() -> Array:
        for _ in range(steps):
            step(a, b)
            step(b, a)
        return a

    return run


def heat_3d(d: Data) -> Run:
    a, b, steps = d["out"], d["b"], d["steps"]
    inside = (slice(1, -1),) * 3
    term = np.empty_like(a[inside])

    def window(axis: int, start: int) -> tuple[slice, ...]:
        stop = None if start == 2 else start - 2
        return tuple(slice(start, stop) if i == axis else slice(1, -1) for i in range(3))

    def step(now: Array, then: Array) -> None:
        middle, new = now[inside], then[inside]
        np.copyto(new, middle)
        for axis in range(3):
            np.multiply(middle, 2.0, out=term)
            np.subtract(now[window(axis, 2)], term, out=term)
            np.add(term, now[window(axis, 0)], out=term)
            np.multiply(term, 0.125, out=term)
            np.add(new, term, out=new)

    def run() -> Array:
        for _ in range(steps):
            step(a, b)
            step(b, a)
        return a

    return run


def floyd_warshall(d: Data) -> Run:
    start, path = d["start"], d["out"]
    through = np.empty_like(path)

    def run() -> Array:
        np.copyto(path, start)
        for k in range(len(path)):
            np.add(path[:, k, None], path[None, k], out=through)
            np.minimum(path, through, out=path)
        return path

    return run


def _cumulative(x: Array) -> Array:
    """Return the normal distribution by the formula of Abramowitz and Stegun, 26.2.17."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    powers: Any = 1.330274429
    for factor in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        powers = powers * k + factor
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * (powers * k)
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(d: Data) -> Run:
    price, strike, years = d["price"], d["strike"], d["years"]
    rate, volatility = d["rate"], d["volatility"]

    def run() -> tuple[Array, Array]:
        spread = volatility * np.sqrt(years)
        d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        now = strike * np.exp(-rate * years)
        below1, below2 = _cumulative(d1), _cumulative(d1 - spread)
        np.subtract(price * below1, now * below2, out=d["out"])
        np.subtract(now * (1 - below2), price * (1 - below1), out=d["put"])
        return d["out"], d["put"]

    return run


def mandelbrot(d: Data) -> Run:
    limit, out = d["limit"], d["out"]
    re, im = np.broadcast_arrays(d["x"], d["y"][:, None])

    def run() -> Array:
        out[...] = 0
        a, b = re.copy().ravel(), im.copy().ravel()
        re_left, im_left = a.copy(), b.copy()
        where, count = np.arange(a.size), out.reshape(-1)
        for _ in range(limit):
            inside = a * a + b * b <= 4
            where = where[inside]  # what has gone away is not looked at again
            count[where] += 1
            a, b, re_left, im_left = (v[inside] for v in (a, b, re_left, im_left))
            a, b = a * a - b * b + re_left, 2 * a * b + im_left
        return out

    return run


def _product(d: Data) -> Run:
    a, b, out = d["a"], d["b"], d["out"]
    return lambda: np.matmul(a, b, out=out)


product_32 = product_64 = _product
