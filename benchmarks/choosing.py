"""How long `polygen.optimize` takes: CPU time, proofs on, nothing kept on disk.

    python -m benchmarks.choosing

Three budgets: 50 ms for one nest, 0.3 s for 25 nests, 1 s for 100 statements.  The nests are the
stencils of `many_nests`, for C with two threads, and for CUDA.  Each is chosen for several kernels
that differ in a number, so that nothing is known from the one before; the median counts.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings

os.environ["POLYGEN_NO_CACHE"] = "1"

import polygen as pg
from benchmarks.many_nests import stencils

BUDGETS = {1: 0.05, 25: 0.3, 100: 1.0}  # seconds for so many nests
TIMES = 5


def seconds(nests: int, target: str, limits: pg.Limits) -> float:
    """Return the CPU time of a choice."""
    taken: list[float] = []
    for time_of in range(TIMES + 1):
        knl = pg.assume(stencils(nests).copy(target=target), f"n >= {3 + time_of}")
        start = time.process_time()
        pg.optimize(knl, limits, sizes={"n": 2000 + time_of})
        taken.append(time.process_time() - start)
    return statistics.median(taken[1:])


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    for target, limits in (
        ("c", pg.Limits(2e10, 3e10, compute_units=2)),
        ("cuda", pg.Limits.named("H200")),
    ):
        for nests, budget in BUDGETS.items():
            took = seconds(nests, target, limits)
            print(f"{target:5} {nests:4} nests: {took:6.3f} s of {budget} s", flush=True)


if __name__ == "__main__":
    main()
