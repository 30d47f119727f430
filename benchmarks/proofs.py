"""CPU time of proving steps.

    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/proofs.py

Each instruction reads what the one before wrote, at two places, so that the outermost loop
carries a dependence.  The time is that of the step, the proof included; without it in brackets.
Each kernel is made anew, for what is known of a kernel is kept with it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import polygen as pg
from polygen.ir.kernel import Kernel

RUNS = 7
QUIET = ("AmbiguousNesting", "PriorityIgnored")
SIZES = ((1, 2, None), (5, 3, 30.0), (20, 6, 600.0))  # instructions, loops, at most: ms


def _kernel(count: int, depth: int) -> Kernel:
    inames = [f"i{d}" for d in range(depth)]
    at = ", ".join(f"{i}+1" for i in inames)
    earlier = ", ".join(["i0", *(f"{i}+1" for i in inames[1:])])
    lines = [f"a0[{at}] = b[{at}] + a0[{earlier}]  {{id=s0}}"]
    for n in range(1, count):
        before = f"a{n - 1}"
        lines.append(
            f"a{n}[{at}] = {before}[{at}] + {before}[{earlier}]  {{id=s{n}, dep=s{n - 1}}}"
        )
    domain = f"{{ [{', '.join(inames)}]: {' and '.join(f'0<={i}<n' for i in inames)} }}"
    knl = pg.make_kernel(domain, "\n".join(lines), silenced_warnings=QUIET)
    return pg.prioritize_loops(knl, ",".join(inames))


def _refused(knl: Kernel) -> object:
    try:
        return pg.tag_inames(knl, {"i0": "g.0"})
    except pg.UserError as error:
        return error


STEPS: dict[str, Callable[[Kernel], object]] = {
    "split": lambda knl: pg.split_iname(knl, "i1", 16),
    "tag": lambda knl: pg.tag_inames(knl, {"i1": "g.0"}),
    "tag, refused": _refused,
    # Not a step: a kernel is made, and seen to be well formed.
    "read": lambda knl: pg.parse_kernel(str(knl)),
}


def _milliseconds(step: Callable[[Kernel], object], count: int, depth: int) -> float:
    times: list[float] = []
    for _ in range(RUNS):
        knl = _kernel(count, depth)
        start = time.process_time()
        step(knl)
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def main() -> None:
    for count, depth, goal in SIZES:
        for name, step in STEPS.items():
            proved = _milliseconds(step, count, depth)
            with pg.without_proofs():
                unproved = _milliseconds(step, count, depth)
            at_most = "" if goal is None else f"  at most {goal:.0f}"
            print(
                f"{count:3} instructions, {depth} loops: {name:13} {proved:7.1f} ms "
                f"({unproved:.1f}){at_most}"
            )


if __name__ == "__main__":
    main()
