"""The twelve benchmarks of ALPyNA, as loops without an annotation, beside plain Python.

Written from their names: what is parallel in each is known, and `explain` has no Python left.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg

RNG = np.random.default_rng(0)


def saxpy(a: float, x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = a * x[i] + y[i]


def vadd(x: Any, y: Any, z: Any, n: int) -> None:
    for i in range(n):
        z[i] = x[i] + y[i]


def hilbert(h: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            h[i, j] = 1.0 / (i + j + 1)


def gemm(alpha: float, beta: float, a: Any, b: Any, c: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            c[i, j] *= beta
            for k in range(n):
                c[i, j] += alpha * a[i, k] * b[k, j]


def gemver(alpha: float, a: Any, u: Any, v: Any, x: Any, y: Any, w: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] + u[i] * v[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + a[j, i] * y[j]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * a[i, j] * x[j]


def syr2k(alpha: float, beta: float, a: Any, b: Any, c: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            c[i, j] *= beta
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += alpha * a[i, k] * b[j, k] + alpha * b[i, k] * a[j, k]


def conv_2d(x: Any, f: Any, y: Any, n: int, m: int) -> None:
    for i in range(n - m + 1):
        for j in range(n - m + 1):
            s = 0.0
            for p in range(m):
                for q in range(m):
                    s += x[i + p, j + q] * f[p, q]
            y[i, j] = s


def conway(old: Any, new: Any, n: int) -> None:
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            alive = 0
            for p in range(-1, 2):
                for q in range(-1, 2):
                    alive += old[i + p, j + q]
            alive -= old[i, j]
            if old[i, j] == 1 and (alive < 2 or alive > 3):
                new[i, j] = 0
            elif old[i, j] == 0 and alive == 3:
                new[i, j] = 1
            else:
                new[i, j] = old[i, j]


def jacobi(a: Any, b: Any, t: int, n: int) -> None:
    for _ in range(t):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = b[i, j]


def mandelbrot(image: Any, n: int, most: int) -> None:
    for i in range(n):
        for j in range(n):
            cr = 3.0 * j / n - 2.0
            ci = 2.0 * i / n - 1.0
            x = 0.0
            y = 0.0
            count = 0
            for _ in range(most):
                if x * x + y * y <= 4.0:
                    t = x * x - y * y + cr
                    y = 2 * x * y + ci
                    x = t
                    count += 1
            image[i, j] = count


def black_scholes(price: Any, strike: Any, years: Any, calls: Any, puts: Any, n: int) -> None:
    for i in range(n):
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (0.02 + 0.5 * 0.3 * 0.3) * years[i]) / (0.3 * root)
        d2 = d1 - 0.3 * root
        n1 = 0.5 * (1 + math.erf(d1 / math.sqrt(2.0)))
        n2 = 0.5 * (1 + math.erf(d2 / math.sqrt(2.0)))
        late = strike[i] * math.exp(-0.02 * years[i])
        calls[i] = price[i] * n1 - late * n2
        puts[i] = late * (1 - n2) - price[i] * (1 - n1)


def fbcorr(images: Any, filters: Any, out: Any, n: int, count: int, rows: int, size: int) -> None:
    for a in range(n):
        for b in range(count):
            for i in range(rows - size + 1):
                for j in range(rows - size + 1):
                    s = 0.0
                    for p in range(size):
                        for q in range(size):
                            s += images[a, i + p, j + q] * filters[b, p, q]
                    out[a, b, i, j] = s


def square(n: int) -> Any:
    return RNG.random((n, n))


CASES: dict[Callable[..., Any], tuple[Any, ...]] = {
    saxpy: (2.5, RNG.random(50), RNG.random(50), 50),
    vadd: (RNG.random(50), RNG.random(50), np.zeros(50), 50),
    hilbert: (np.zeros((9, 9)), 9),
    gemm: (1.5, 1.2, square(9), square(9), square(9), 9),
    gemver: (1.5, square(9), *(RNG.random(9) for _ in range(5)), 9),
    syr2k: (1.5, 1.2, square(9), square(9), square(9), 9),
    conv_2d: (square(9), square(3), np.zeros((7, 7)), 9, 3),
    conway: (RNG.integers(0, 2, (9, 9)), np.zeros((9, 9), int), 9),
    jacobi: (square(9), np.zeros((9, 9)), 3, 9),
    mandelbrot: (np.zeros((9, 9), int), 9, 30),
    black_scholes: (*(RNG.random(50) + 0.5 for _ in range(3)), np.zeros(50), np.zeros(50), 50),
    fbcorr: (RNG.random((8, 7, 7)), RNG.random((3, 3, 3)), np.zeros((8, 3, 5, 5)), 8, 3, 7, 3),
}


@pytest.mark.more
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_against_python(function: Callable[..., Any]) -> None:
    plain, own = copy.deepcopy(CASES[function]), copy.deepcopy(CASES[function])
    compiled = pg.jit(function, strict=True)
    function(*plain)
    compiled(*own)
    for one, other in zip(own, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


# The loops that carry something, or nothing but sums, by the variable of each; others are parallel.
SEQUENTIAL = {
    gemm: "k",
    syr2k: "k",
    jacobi: "_",
    mandelbrot: "_",
    conv_2d: "pq",
    fbcorr: "pq",
    conway: "pq",
    gemver: "j",
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_what_is_parallel(function: Callable[..., Any]) -> None:
    names = dict(zip(function.__code__.co_varnames, CASES[function], strict=False))
    (block,) = pg.analyse(function, **names)[function.__name__].blocks
    found = {i for i, row in block.loops.items() if not row.parallel.is_always}
    assert {_written(i) for i in found} == set(SEQUENTIAL.get(function, ""))


def _written(iname: str) -> str:
    """Return what a loop variable is called in Python: names of kernels are others, or longer."""
    return "_" if iname.startswith("my") else iname.partition("_")[0]


@pytest.mark.more
@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_code_for_gpus(function: Callable[..., Any], target: str) -> None:
    (kernel,) = pg.jit(function, target=target, strict=True).kernels(*CASES[function])
    text = str(pg.generate_code(kernel))
    assert ("blockIdx" if target == "cuda" else "get_group_id") in text or "threadIdx" in text
