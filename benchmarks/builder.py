"""Time to make kernels of 100 statements: as text, and by the builder.

    python benchmarks/builder.py

CPU time in ms of one process, the best of several, and what a statement takes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import polygen as pg

COUNT = 100


def one_nest() -> tuple[Callable[[], pg.Kernel], Callable[[], pg.Kernel]]:
    """Return what makes statements in one loop, as text and by the builder."""
    lines = [f"x{k + 1}[i] = 2*x{k}[i] + y[i]*(x{k}[i] - 3)" for k in range(COUNT)]
    names = [*(f"x{k}" for k in range(COUNT + 1)), "y"]
    data = [pg.ValueArg("n"), *(pg.GlobalArg(name, "float64", "n") for name in names)]

    def built() -> pg.Kernel:
        b = pg.Builder()
        n = b.size("n")
        *x, y = (b.array(name, "float64", (n,)) for name in names)
        with b.loop("i", 0, n) as i:
            for k in range(COUNT):
                x[k + 1][i] = 2 * x[k][i] + y[i] * (x[k][i] - 3)
        return b.kernel()

    return lambda: pg.make_kernel("{ [i]: 0<=i<n }", lines, data), built


def many_nests() -> tuple[Callable[[], pg.Kernel], Callable[[], pg.Kernel]]:
    """Return what makes stencils, each in two loops of its own, as text and by the builder."""
    domains, lines = list[str](), list[str]()
    for k in range(COUNT):
        i, j, old = f"i{k}", f"j{k}", f"a{k % 5}"
        domains.append(f"{{ [{i}, {j}]: 1<={i}<n-1 and 1<={j}<n-1 }}")
        near = (f"{i}, {j}", f"{i}-1, {j}", f"{i}+1, {j}", f"{i}, {j}-1", f"{i}, {j}+1")
        total = " + ".join(f"{old}[{index}]" for index in near)
        lines += [f"for {i}, {j}", f"a{(k + 1) % 5}[{i}, {j}] = ({total})/5", "end"]
    data = [pg.ValueArg("n"), *(pg.GlobalArg(f"a{k}", "float64", "n, n") for k in range(5))]
    options: dict[str, Any] = {
        "seq_dependencies": True,
        "loop_priority": [f"i{k}, j{k}" for k in range(COUNT)],
    }

    def built() -> pg.Kernel:
        b = pg.Builder()
        n = b.size("n")
        arrays = [b.array(f"a{k}", "float64", (n, n)) for k in range(5)]
        for k in range(COUNT):
            x = arrays[k % 5]
            with b.loop(f"i{k}", 1, n - 1) as i, b.loop(f"j{k}", 1, n - 1) as j:
                total = x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                arrays[(k + 1) % 5][i, j] = total / 5
        return b.kernel(seq_dependencies=True)

    return lambda: pg.make_kernel(domains, lines, data, **options), built


def best(make: Callable[[], pg.Kernel], times: int = 9) -> float:
    """Return the least CPU time of several calls, in ms."""
    found: list[float] = []
    for _ in range(times):
        start = time.process_time()
        make()
        found.append(time.process_time() - start)
    return 1e3 * min(found)


def main() -> None:
    """Measure, and print a table."""
    warnings.simplefilter("ignore")
    print(f"{'kernel':24}{'text':>8}{'builder':>9}   (ms, {COUNT} statements)")
    for name, (text, built) in (("one loop", one_nest()), ("100 nests", many_nests())):
        assert text() == built()
        print(f"{name:24}{best(text):8.1f}{best(built):9.1f}")


if __name__ == "__main__":
    main()
