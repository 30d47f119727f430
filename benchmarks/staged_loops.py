"""Times of what is found once about loops, and of what each call asks.

    python -m benchmarks.staged_loops

CPU time for what is found once; wall time, the least of seven, for what each call does.  ALPyNA
solves the dependences of a loop again at each call, which takes 0.8 to 22 ms by its paper.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

import numpy as np

import polygen as pg

SHIFT = """
def shift(a, b, n, k):
    for i in range(n):
        a[i + k] = a[i] + b[i]
"""

FOUR_LOOPS = """
def nest(a, b, c, im, jm, km, mm, p1, p2, p3):
    for i in range(im):
        for j in range(jm):
            for k in range(km):
                for m in range(mm):
                    a[i + p1, j, k, m] = b[i, j, k, m]*c[i, j, k, m]
                    b[i, j + p2, k, m] = a[i, j, k, m] + b[i, j + p3, k, m]
"""

TIMES = """
def double(a, b, n):
    for i in range(n):
        a[i] = 2*b[i]
"""


def best(call: Callable[[], object], number: int) -> float:
    """Return the least time of a call, in microseconds."""
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def main() -> None:
    """Print the times."""
    str(pg.analyse(TIMES))  # what is imported on the way
    for name, text in (("a shift, 1 loop", SHIFT), ("4 loops, 3 distances", FOUR_LOOPS)):
        start = time.process_time()
        conditions = str(pg.analyse(text))
        taken = time.process_time() - start
        print(f"analysed: {name:22} {taken * 1e3:8.1f} ms, {len(conditions.splitlines())} lines")
    functions = pg.analyse(SHIFT + TIMES)
    shift, double = pg.jit(_shift), functions.double
    a, b = np.zeros(40), np.ones(10)
    start = time.process_time()
    shift(a, b, 2, 30)
    print(f"first call, without the compiler: {(time.process_time() - start) * 1e3:6.1f} ms")
    double(a, b, 2)
    kernel = functions.shift.kernels[0]
    variants = pg.variants(kernel)
    sizes = dict.fromkeys(kernel.parameters, 10)
    picked = best(lambda: variants.among(sizes), 20_000)
    print(f"picking one of {len(variants)} kernels:    {picked:8.2f} us")
    print(f"a call that picks:           {best(lambda: shift(a, b, 2, 30), 5_000):8.2f} us")
    print(f"a call of a kernel alone:    {best(lambda: double(a, b, 2), 5_000):8.2f} us")


def _shift(a: np.ndarray, b: np.ndarray, n: int, k: int) -> None:
    for i in range(n):
        a[i + k] = a[i] + b[i]


if __name__ == "__main__":
    main()
