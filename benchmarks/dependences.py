"""CPU time of `dependences`, `parallel_inames` and `explain_order`.

    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/dependences.py

Two kinds of kernels. In the first, each instruction reads what the one before wrote, at two places,
and nothing is overwritten. In the second, each updates an array in place in a loop over time, from
neighbours: then the last write before each access has to be found. Each kernel is made anew, for
what is known of a kernel is kept with it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import polygen as pg
from polygen.ir.kernel import Kernel

RUNS = 7
QUIET = ("AmbiguousNesting", "PriorityIgnored")
SIZES = ((1, 3), (5, 3), (20, 6))  # instructions, loops


def _kernel(lines: list[str], inames: list[str]) -> Kernel:
    domain = f"{{ [{', '.join(inames)}]: {' and '.join(f'0<={i}<n' for i in inames)} }}"
    with pg.without_proofs():
        knl = pg.make_kernel(domain, "\n".join(lines), silenced_warnings=QUIET)
        return pg.prioritize_loops(knl, ",".join(inames))


def chain(count: int, depth: int) -> Kernel:
    inames = [f"i{d}" for d in range(depth)]
    at = ", ".join(f"{i}+1" for i in inames)
    earlier = ", ".join(["i0", *(f"{i}+1" for i in inames[1:])])
    lines = [f"a0[{at}] = b[{at}] + a0[{earlier}]  {{id=s0}}"]
    for n in range(1, count):
        reads = f"a{n - 1}[{at}] + a{n - 1}[{earlier}]"
        lines.append(f"a{n}[{at}] = {reads}  {{id=s{n}, dep=s{n - 1}}}")
    return _kernel(lines, inames)


def in_place(count: int, depth: int) -> Kernel:
    inames = [f"i{d}" for d in range(depth)]
    at = ", ".join(f"{i}+1" for i in inames[1:])
    earlier = ", ".join([inames[1], *(f"{i}+1" for i in inames[2:])])
    later = ", ".join([*(f"{i}+1" for i in inames[1:-1]), f"{inames[-1]}+2"])
    lines: list[str] = []
    for n in range(count):
        reads = f"a{max(n - 1, 0)}[{at}] + a{n}[{earlier}] + a{n}[{later}]"
        dep = f"dep=*{f's{n - 1}' if n else ''}"
        lines.append(f"a{n}[{at}] = {reads}  {{id=s{n}, inames={':'.join(inames)}, {dep}}}")
    return _kernel(lines, inames)


KERNELS = {"nothing overwritten": chain, "all in place": in_place}
WHAT: dict[str, Callable[[Kernel], object]] = {
    "dependences": pg.dependences,
    "dependences, memory": lambda knl: pg.dependences(knl, memory=True),
    "parallel_inames": pg.parallel_inames,
    "explain_order": lambda knl: pg.explain_order(knl, "s0", knl.instructions[-1].id),
}


def _milliseconds(knl: Callable[[], Kernel], function: Callable[[Kernel], object]) -> float:
    times: list[float] = []
    for _ in range(RUNS):
        made = knl()
        start = time.process_time()
        function(made)
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def main() -> None:
    for kind, make in KERNELS.items():
        for count, depth in SIZES:
            for name, function in WHAT.items():
                spent = _milliseconds(lambda: make(count, depth), function)  # noqa: B023
                print(f"{kind}, {count:2} instructions, {depth} loops: {name:19} {spent:6.1f} ms")


if __name__ == "__main__":
    main()
