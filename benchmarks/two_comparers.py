"""CPU time of proving steps, and of finding the same without being told which step it was.

    POLYGEN_NO_CACHE=1 .venv/bin/python -m benchmarks.two_comparers

A step's proof compares the two kernels' dataflow along the step's map of instances
(`polygen.analysis.values`).  `polygen.equivalent` is given both kernels and no map
(`polygen.analysis.equality`).  Each proof is the difference between the step with proofs and
without; kernels are made anew, for what is known of a kernel is kept with it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import polygen as pg
from polygen.analysis.integers.proving import without_proofs
from polygen.ir.kernel import Kernel

RUNS = 5
PRODUCT = (
    "{ [i,j,k]: 0<=i,j,k<n }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    {"a": "float64", "b": "float64"},
)
STENCIL = (
    "{ [t,i]: 0<=t<m and 1<=i<n-1 }",
    "u[t+1,i] = u[t,i-1] + u[t,i] + u[t,i+1]",
    {"u": "float64"},
)
PAIR = (
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "t[i,j] = 2*a[i,j] {id=t}\nb[i,j] = t[i,j] + 1 {dep=t}",
    {"a": "float64", "t": "float64", "b": "float64"},
)


def tiled(knl: Kernel) -> Kernel:
    return pg.split_iname(knl, "k", 8)


STEPS: dict[str, tuple[tuple[str, str, dict[str, str]], Callable[[Kernel], Kernel]]] = {
    "split_iname": (PRODUCT, lambda k: pg.split_iname(k, "i", 16)),
    "tag_inames": (PRODUCT, lambda k: pg.tag_inames(k, "i: g.0, j: l.0")),
    "add_prefetch": (
        PRODUCT,
        lambda k: pg.add_prefetch(tiled(k), "a", ["k_inner"], default_tag=None),
    ),
    "split_reduction_inward": (
        PRODUCT,
        lambda k: pg.split_reduction_inward(tiled(k), "k_inner"),
    ),
    "interchange": (PAIR, lambda k: pg.prioritize_loops(k, "j, i")),
    "duplicate_inames": (PAIR, lambda k: pg.duplicate_inames(k, "i", "t")),
    "assignment_to_subst": (PAIR, lambda k: pg.assignment_to_subst(k, "t")),
    "shift": (STENCIL, lambda k: pg.shift(k, "i", 3)),
    "split_iname of a stencil": (STENCIL, lambda k: pg.split_iname(k, "t", 4)),
}


def made(case: tuple[str, str, dict[str, str]]) -> Kernel:
    domain, text, types = case
    quiet = ["AmbiguousNesting", "PriorityIgnored"]
    order = "t, i" if case is STENCIL else None
    knl = pg.make_kernel(domain, text, silenced_warnings=quiet, loop_priority=order)
    return pg.add_dtypes(knl, types)


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def compared(name: str) -> tuple[float, float, str]:
    """Return the seconds of both ways, and what `equivalent` says."""
    case, step = STEPS[name]
    proofs: list[float] = []
    others: list[float] = []
    verdict = ""
    for _ in range(RUNS):
        with without_proofs():
            bare = seconds(partial(step, made(case)))
        proofs.append(seconds(partial(step, made(case))) - bare)
        before, after = made(case), step(made(case))
        start = time.process_time()
        verdict = "equal" if pg.equivalent(before, after) else "not decided"
        others.append(time.process_time() - start)
    return statistics.median(proofs), statistics.median(others), verdict


def main() -> None:
    print("| step | its proof, ms | `equivalent`, ms | says |")
    print("| --- | ---: | ---: | --- |")
    for name in STEPS:
        proof, other, verdict = compared(name)
        print(f"| {name} | {proof * 1e3:.1f} | {other * 1e3:.1f} | {verdict} |")


if __name__ == "__main__":
    main()
