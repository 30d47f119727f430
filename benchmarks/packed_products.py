"""Products of packed matrices (`pack_product`) beside the BLAS that NumPy has.

    OMP_NUM_THREADS=1 python -m benchmarks.packed_products
    OMP_NUM_THREADS=2 python -m benchmarks.packed_products --threads 2 --sizes 1009 1024

Minima count.  With one thread, calls alternate, and times are the thread's CPU time: others on the
machine disturb that less.  With several, a few calls of each take turns, after a pause: the threads
of either library go on waiting for work for a while, on processors that the other one needs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import polygen as pg

SIZES = (256, 257, 509, 512, 1009, 1024, 2039, 2048)
TYPES = ("float32", "float64", "complex64", "complex128")
_ENOUGH = 1e9  # products that are timed at least
_FEWEST = 5  # calls
_PAUSE = 0.3  # seconds


def kernel(dtype: str, *, is_transposed: bool) -> Any:
    """Return the plain product."""
    left = "a[k,i]" if is_transposed else "a[i,k]"
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        f"c[i,j] = sum(k, {left}*b[k,j])  {{id=c}}",
        name="product",
        target="c",
    )
    return pg.add_dtypes(knl, {"a, b": dtype})


def timed(run: Any, n: int, dtype: str, *, is_transposed: bool, clock: Any) -> tuple[float, float]:
    """Return the least seconds of a call, and of NumPy's."""
    rng = np.random.default_rng(n)
    a, b = (rng.random((n, n)).astype(dtype) for _ in range(2))
    if a.dtype.kind == "c":
        a, b = ((x + 1j * rng.random((n, n))).astype(dtype) for x in (a, b))
    c, d = np.zeros_like(a), np.zeros_like(a)
    left = a.T if is_transposed else a
    calls: list[Callable[[], Any]] = [
        lambda: run(a=a, b=b, c=c),
        lambda: np.matmul(left, b, out=d),
    ]
    best = [float("inf")] * 2
    calls_of_all = max(_FEWEST, int(_ENOUGH / n**3))
    turns, several, pause = calls_of_all, 1, 0.0
    if clock is not time.thread_time:
        turns, several, pause = _FEWEST, max(_FEWEST, calls_of_all), _PAUSE
    for _ in range(turns):
        for which, call in enumerate(calls):
            time.sleep(pause)
            for _ in range(several):
                start = clock()
                call()
                best[which] = min(best[which], clock() - start)
    error = np.abs(c - d).max() / n
    if error > 1e-6 * (1 if dtype in ("float32", "complex64") else 1e-8):
        raise SystemExit(f"{dtype} {n}: the results differ by {error}")
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--types", nargs="*", default=TYPES)
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != str(given.threads):  # read where libraries are loaded
        raise SystemExit(f"set OMP_NUM_THREADS={given.threads}")
    clock = time.thread_time if given.threads == 1 else time.perf_counter
    print(f"{given.threads} threads; load {os.getloadavg()[0]:.1f}")
    for dtype in given.types:
        for is_transposed in (False, True):
            knl = kernel(dtype, is_transposed=is_transposed)
            pg.pack_product(knl, "c")  # what is loaded and found once
            start = time.process_time()
            packed = pg.pack_product(knl.copy(name="packed"), "c")
            made = time.process_time() - start
            run = packed.executor("c")
            print(f"{dtype}{', left transposed' if is_transposed else ''}: made in {made:.2f} s")
            for n in given.sizes:
                ours, theirs = timed(run, n, dtype, is_transposed=is_transposed, clock=clock)
                times = f"{1e3 * ours:9.2f} ms {1e3 * theirs:9.2f} ms {ours / theirs:5.2f}"
                flops = n**3 * (8 if dtype.startswith("complex") else 2)
                print(f"{n:6} {times} {1e-9 * flops / ours:5.0f} GFlop/s")


if __name__ == "__main__":
    main()
