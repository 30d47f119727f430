"""The twelve benchmarks of ALPyNA, as loops without an annotation, and arguments for them.

Written from their names.  Nothing here needs more than NumPy: Numba compiles these functions, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


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


def arguments(function: Callable[..., Any], scale: float = 1.0) -> tuple[Any, ...]:
    """Return arguments with which a function does some 10 to 100 million operations.

    Parameters:
        function: one of `FUNCTIONS`.
        scale: a factor of the extents.
    """
    rng = np.random.default_rng(0)

    def of(*extents: int) -> Any:
        return rng.random(extents)

    many, some, few, least = (max(8, int(scale * n)) for n in (4_000_000, 2000, 400, 120))
    made: dict[Callable[..., Any], Callable[[], tuple[Any, ...]]] = {
        saxpy: lambda: (2.5, of(many), of(many), many),
        vadd: lambda: (of(many), of(many), of(many), many),
        hilbert: lambda: (of(some, some), some),
        gemm: lambda: (1.5, 1.2, of(few, few), of(few, few), of(few, few), few),
        gemver: lambda: (1.5, of(some, some), *(of(some) for _ in range(5)), some),
        syr2k: lambda: (1.5, 1.2, of(few, few), of(few, few), of(few, few), few),
        conv_2d: lambda: (of(some, some), of(5, 5), of(some, some), some, 5),
        conway: lambda: (rng.integers(0, 2, (some, some)), np.zeros((some, some), int), some),
        jacobi: lambda: (of(some, some), of(some, some), 5, some),
        mandelbrot: lambda: (np.zeros((few, few), int), few, 200),
        black_scholes: lambda: (
            *(of(many // 8) + 0.5 for _ in range(3)), of(many // 8), of(many // 8), many // 8,
        ),
        fbcorr: lambda: (
            of(8, least, least), of(16, 5, 5), of(8, 16, least - 4, least - 4), 8, 16, least, 5,
        ),
    }  # fmt: skip
    return made[function]()


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    black_scholes, conv_2d, conway, fbcorr, gemm, gemver, hilbert, jacobi, mandelbrot, saxpy,
    syr2k, vadd,
)  # fmt: skip
