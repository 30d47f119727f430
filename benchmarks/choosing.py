"""How long `polygen.optimize` takes: CPU time, proofs on, nothing kept on disk.

    python -m benchmarks.choosing [--only product] [--targets c,cuda] [--stages]

Three budgets: 50 ms for one nest, 0.3 s for 25 nests, 1 s for 100 statements.  The single nests are
of all kinds; the many are the stencils of `many_nests`.  Each is chosen for several kernels that
differ in a number, so that nothing is known from the one before; the median counts.  Behind it
stands how much of it was to see that there is code.  With `--stages`, each stage is timed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

os.environ["POLYGEN_NO_CACHE"] = "1"

import polygen as pg
from benchmarks.many_nests import stencils
from polygen.schedules import grids, processors, schedule
from polygen.schedules.plan import Plan

TIMES = 5
SIZE = 2000
LIMITS = {
    "c": pg.Limits(2e10, 3e10, compute_units=2),
    "opencl": pg.Limits.named("H200"),
    "cuda": pg.Limits.named("H200"),
}
Data = dict[str, Any]
Make = Callable[[], pg.Kernel]


def made(domains: Any, text: str, data: Data, **options: Any) -> pg.Kernel:
    """Return a kernel of one nest; of each array, its shape."""
    arrays = [pg.GlobalArg(name, "float32", shape=shape) for name, shape in data.items()]
    integers = [pg.GlobalArg(n, "int32", shape=s) for n, s in options.pop("integers", {}).items()]
    return pg.make_kernel(
        domains,
        text,
        [*arrays, *integers, "..."],
        silenced_warnings=["AmbiguousNesting"],
        **options,
    )


def around(axes: int, places: list[tuple[int, ...]], name: str) -> pg.Kernel:
    """Return a stencil that reads some places around each element."""
    inames = "ijk"[-axes:]
    at = [
        "a[" + ", ".join(f"{i} + {by}" for i, by in zip(inames, p, strict=True)) + "]"
        for p in places
    ]
    inside = " and ".join(f"1<={i}<n-1" for i in inames)
    shape = ", ".join("n" * axes)
    return made(
        f"{{ [{', '.join(inames)}]: {inside} }}",
        f"b[{', '.join(inames)}] = 0.1*({' + '.join(at)})",
        {"a, b": shape},
        loop_priority=", ".join(inames),
        name=name,
    )


def cube(axes: int) -> list[tuple[int, ...]]:
    """Return all neighbours, diagonal ones too."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(axes):
        found = [(*place, by) for place in found for by in (-1, 0, 1)]
    return found


def cross(axes: int) -> list[tuple[int, ...]]:
    """Return the neighbours along axes."""
    return [place for place in cube(axes) if sum(map(abs, place)) < 2]


SINGLE: dict[str, Make] = {
    "element-wise": lambda: made("{ [i]: 0<=i<n }", "c[i] = 2*a[i] + b[i]", {"a, b, c": "n"}),
    "stencil of 5": lambda: around(2, cross(2), "of_5"),
    "stencil of 9": lambda: around(2, cube(2), "of_9"),
    "stencil of 27": lambda: around(3, cube(3), "of_27"),
    "transposition": lambda: made("{ [i,j]: 0<=i,j<n }", "b[j,i] = 2*a[i,j]", {"a, b": "n, n"}),
    "product": lambda: made(
        "{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", {"a, b, c": "n, n"}
    ),
    "product with bias": lambda: made(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = fmax(sum(k, a[i,k]*b[j,k]) + d[j], 0)",
        {"a, b, c": "n, n", "d": "n"},
    ),
    "row sums": lambda: made(
        "{ [i,j]: 0<=i,j<n }", "s[i] = sum(j, a[i,j])", {"a": "n, n", "s": "n"}
    ),
    "column sums": lambda: made(
        "{ [i,j]: 0<=i,j<n }", "s[i] = sum(j, a[j,i])", {"a": "n, n", "s": "n"}
    ),
    "softmax": lambda: made(
        "{ [i,j,k,l]: 0<=i,j,k,l<n }",
        """
        <> most = max(j, x[i,j])
        <> s = sum(k, exp(x[i,k] - most))
        y[i,l] = exp(x[i,l] - most)/s
        """,
        {"x, y": "n, n"},
        assumptions="n >= 1",
    ),
    "scan": lambda: made("{ [i]: 0<=i<n }", "x[i+1] = x[i] + a[i]", {"x": "n+1", "a": "n"}),
    "sparse rows": lambda: made(
        ["{ [i]: 0<=i<n }", "[first, last] -> { [j]: first<=j<last }"],
        "<> first = ptr[i]\n<> last = ptr[i+1]\ny[i] = sum(j, val[j]*x[col[j]])",
        {"val": "nnz", "x, y": "n"},
        integers={"ptr": "n+1", "col": "nnz"},
    ),
    "time loop": lambda: made(
        ["{ [t]: 0<=t<T }", "{ [i,j,p,q]: 1<=i,j,p,q<n-1 }"],
        """
        for t
            b[i,j] = 0.25*(a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1])  {id=b}
            a[p,q] = 0.25*(b[p-1,q] + b[p+1,q] + b[p,q-1] + b[p,q+1])  {id=a, dep=b}
        end
        """,
        {"a, b": "n, n"},
        seq_dependencies=True,
        loop_priority=["t, i, j", "t, p, q"],
    ),
    "waves": lambda: made(
        "{ [t,i]: 0<=t<T and 1<=i<n-1 }",
        "a[i] = 0.5*(a[i-1] + a[i+1])  {inames=t:i}",
        {"a": "n"},
        loop_priority="t, i",
        assumptions="n >= 2",
    ),
    "histogram": lambda: made(
        "{ [i]: 0<=i<n }",
        "h[b[i]] = h[b[i]] + w[i]",
        {"h": "m", "w": "n"},
        integers={"b": "n"},
    ),
}
MANY = {25: 0.3, 100: 1.0}  # seconds for so many nests
CASES: dict[str, tuple[Make, float]] = {name: (make, 0.05) for name, make in SINGLE.items()} | {
    f"{count} nests": (partial(stencils, count), budget) for count, budget in MANY.items()
}


def variants(make: Make, target: str) -> list[pg.Kernel]:
    """Return kernels that differ in what is assumed of a size."""
    return [
        pg.assume(make().copy(target=target), f"n >= {3 + time_of}") for time_of in range(TIMES + 1)
    ]


def seconds(make: Make, target: str) -> tuple[float, float]:
    """Return the CPU time of a choice, and that of the looks whether there is code."""
    taken: list[float] = []
    looked: list[float] = []
    whole, code = vars(schedule)["_code_or_why_not"], 0.0

    def timed(kernel: pg.Kernel) -> str | None:
        nonlocal code
        start = time.process_time()
        found: str | None = whole(kernel)
        code += time.process_time() - start
        return found

    with patch.object(schedule, "_code_or_why_not", timed):
        for number, knl in enumerate(variants(make, target)):
            code, start = 0.0, time.process_time()
            pg.optimize(knl, LIMITS[target], sizes={"n": SIZE + number})
            taken.append(time.process_time() - start)
            looked.append(code)
    return statistics.median(taken[1:]), statistics.median(looked[1:])


def show_stages(make: Make, target: str) -> None:
    """Print the least times of the stages."""
    request_for = vars(schedule)["request_for"]
    stages = processors.STAGES if target == "c" else grids.STAGES
    found: dict[str, list[float]] = {}
    steps: dict[str, int] = {}
    for knl in variants(make, target):
        plan = Plan(knl, request_for(knl, LIMITS[target], {"n": SIZE}, tune=False))
        for stage in stages:
            start, before = time.process_time(), len(plan.kernel.history)
            stage(plan)
            found.setdefault(stage.__name__, []).append(time.process_time() - start)
            steps[stage.__name__] = len(plan.kernel.history) - before
    for name, times in found.items():
        if min(times) > 0.001:
            print(f"          {name:24} {1e3 * min(times):8.1f} ms, {steps[name]} steps")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default="c,opencl,cuda")
    parser.add_argument("--stages", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for target in asked.targets.split(","):
        for name, (make, budget) in CASES.items():
            if asked.only not in name:
                continue
            took, code = seconds(make, target)
            verdict = "" if took <= budget else f"  {took / budget:.1f} x"
            print(
                f"{target:6} {name:18} {1e3 * took:8.1f} ms of {1e3 * budget:4.0f}, "
                f"code {1e3 * code:7.1f} ms{verdict}",
                flush=True,
            )
            if asked.stages:
                show_stages(make, target)


if __name__ == "__main__":
    main()
