"""Loops in vectors, beside the plain loop that gcc vectorises by itself: the ratio of their times.

    OMP_NUM_THREADS=1 python benchmarks/lanes.py

Each kernel runs in C as it is, and in lanes that fill 16 and 32 bytes; they take turns, and the
least time of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import polygen as pg

LENGTH, SIDE, ROUNDS, CALLS = 1 << 17, 386, 12, 15

Array = npt.NDArray[Any]


def make(loops: str, text: str, dtype: str, shapes: dict[str, str], order: str = "") -> pg.Kernel:
    arrays = [pg.GlobalArg(name, dtype, shape) for name, shape in shapes.items()]
    return pg.make_kernel(
        loops, text, [*arrays, pg.ValueArg("s", dtype), "..."], loop_priority=order or ()
    )


def cases(dtype: str) -> Iterator[tuple[str, pg.Kernel, str, dict[str, Array]]]:
    """Yield a name, a kernel, the loop that becomes lanes, and arguments."""
    rng = np.random.default_rng(seed=1)
    x, y = rng.random((2, LENGTH)).astype(dtype)
    line = {"x": "n", "y": "n", "z": "n"}
    text = "z[i] = s*x[i] + y[i]"
    yield "saxpy", make("{ [i]: 0<=i<n }", text, dtype, line), "i", {"x": x, "y": y}
    text = "z[i] = if(x[i] > s, max(x[i], y[i]), sqrt(y[i]) + i)"
    yield "choice", make("{ [i]: 0<=i<n }", text, dtype, line), "i", {"x": x, "y": y}
    a, b = rng.random((2, SIDE, SIDE)).astype(dtype)
    plane = {"a": "n, m", "z": "n, m"}
    loops = "{ [i, j]: 1<=i<n-1 and 0<=j<m-2 }"
    text = "z[i,j+1] = s*(a[i-1,j+1] + a[i+1,j+1] + a[i,j] + a[i,j+2] - 4*a[i,j+1])"
    yield "stencil", make(loops, text, dtype, plane, "i, j"), "j", {"a": a}
    shapes = {"a": "n, l", "b": "l, m", "z": "n, m"}
    loops = "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }"
    text = "z[i,j] = s*sum(k, a[i,k]*b[k,j])"
    small = {"a": a[:96, :96].copy(), "b": b[:96, :96].copy()}
    yield "product", make(loops, text, dtype, shapes, "i, j, k"), "j", small


def least(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def ratios(knl: pg.Kernel, iname: str, given: dict[str, Array], dtype: str) -> list[float]:
    """Return the time of the plain loop in microseconds, and the others' in terms of that."""
    out = np.zeros_like(next(iter(given.values())))
    arguments = {**given, "z": out, "s": np.dtype(dtype).type(0.5)}
    widths = [size // np.dtype(dtype).itemsize for size in (16, 32)]
    kernels = [knl, *(pg.strip_mine_to_vector(knl, iname, width) for width in widths)]
    runs = [k.executor("c") for k in kernels]
    calls = [lambda run=run: run(**arguments) for run in runs]
    found = [[least(call) for call in calls] for _ in range(ROUNDS)]
    plain, *others = [min(times) for times in zip(*found, strict=True)]
    return [plain * 1e6, *(time / plain for time in others)]


def main() -> None:
    print(f"{'':10}{'':9}  plain, us    16 bytes    32 bytes")
    for dtype in ("float32", "float64"):
        for name, knl, iname, given in cases(dtype):
            plain, *others = ratios(knl, iname, given, dtype)
            print(f"{name:10}{dtype:9}{plain:11.0f}" + "".join(f"{r:12.2f}" for r in others))


if __name__ == "__main__":
    main()
