"""Measures what dispatches and lazy calls cost beyond their kernels, as time of the processor.

    python -m benchmarks.lazy_costs

A dispatch of five and of 20 views, less the same kernel called by itself with its arrays; a call
that waits; the flush of five and of 50 of them that were seen before, less one call of what they
become.  `time.process_time` counts: what else runs on the machine does not.
"""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="arg-type,attr-defined,index,misc,operator,type-arg,valid-type"

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import polygen.workunits as pk
from polygen.ir.traced_calls import WAITING
from polygen.lazy import fused_calls

CALLS, TURNS = 200, 15
N = 16


@pk.workunit
def of_five(
    i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], c: pk.View1D[pk.double],
    d: pk.View1D[pk.double], e: pk.View1D[pk.double],
):  # fmt: skip
    a[i] = b[i] + c[i] + d[i] + e[i]


@pk.workunit
def of_twenty(  # noqa: PLR0913, PLR0917
    i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], c: pk.View1D[pk.double],
    d: pk.View1D[pk.double], e: pk.View1D[pk.double], f: pk.View1D[pk.double],
    g: pk.View1D[pk.double], h: pk.View1D[pk.double], k: pk.View1D[pk.double],
    w: pk.View1D[pk.double], m: pk.View1D[pk.double], n: pk.View1D[pk.double],
    o: pk.View1D[pk.double], p: pk.View1D[pk.double], q: pk.View1D[pk.double],
    r: pk.View1D[pk.double], s: pk.View1D[pk.double], t: pk.View1D[pk.double],
    u: pk.View1D[pk.double], v: pk.View1D[pk.double],
):  # fmt: skip
    a[i] = b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + k[i] + w[i] + m[i]
    a[i] += n[i] + o[i] + p[i] + q[i] + r[i] + s[i] + t[i] + u[i] + v[i]


@pk.workunit
def nstream(
    i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], c: pk.View1D[pk.double], s: float
):
    a[i] += b[i] + s * c[i]


def microseconds(work: Callable[[], object], count: int = CALLS) -> float:
    """Return the least time of the processor that a call takes."""
    best = math.inf
    for _ in range(TURNS):
        start = time.process_time()
        for _ in range(count):
            work()
        best = min(best, time.process_time() - start)
    return best / count * 1e6


def dispatched(unit: Any, names: str) -> tuple[float, float]:
    """Return what a dispatch takes, and what its kernel takes by itself."""
    views = {name: pk.View([N]) for name in names}
    pk.parallel_for(N, unit, **views)
    (again,) = unit.repeated.values()
    seen: list[Any] = []
    run = again.call.__globals__["_pg_run"]
    again.call.__globals__["_pg_run"] = seen.append
    pk.parallel_for(N, unit, **views)
    again.call.__globals__["_pg_run"] = run
    (given,) = seen
    return microseconds(lambda: pk.parallel_for(N, unit, **views)), microseconds(lambda: run(given))


def flushed(count: int) -> tuple[float, float, float]:
    """Return what a call takes to wait, what a flush takes, and its kernel by itself."""
    x, y, z = pk.View([N]), pk.View([N]), pk.View([N])
    traced = flush = math.inf
    for _ in range(CALLS):
        with pk.lazy():
            start = time.perf_counter()
            for _ in range(count):
                pk.parallel_for(N, nstream, a=x, b=y, c=z, s=3.0)
            middle = time.perf_counter()
            pk.fence()
            end = time.perf_counter()
        traced, flush = min(traced, middle - start), min(flush, end - middle)
    plan = next(reversed(fused_calls._PLANS.values()))
    assert plan.quick is not None
    assert not WAITING
    run = plan.quick[0].__globals__["_pg_run"]
    seen: list[Any] = []
    plan.quick[0].__globals__["_pg_run"] = seen.append
    with pk.lazy():
        for _ in range(count):
            pk.parallel_for(N, nstream, a=x, b=y, c=z, s=3.0)
    plan.quick[0].__globals__["_pg_run"] = run
    return traced / count * 1e6, flush * 1e6, microseconds(lambda: run(seen[0]))


def main() -> None:
    """Print a table."""
    np.seterr(all="ignore")  # what is timed may grow beyond all numbers
    gc.disable()
    pk.set_default_space(pk.Serial)
    for unit, names in ((of_five, "abcde"), (of_twenty, "abcdefghkwmnopqrstuv")):
        whole, kernel = dispatched(unit, names)
        print(f"a dispatch of {len(names)} views: {whole - kernel:.1f} us beyond {kernel:.1f} us")
    for count in (5, 50):
        traced, flush, kernel = flushed(count)
        print(
            f"{count} calls: {traced:.1f} us to trace one; "
            f"{flush - kernel:.1f} us a flush beyond {kernel:.1f} us"
        )


if __name__ == "__main__":
    main()
