"""CPU time of analyses, steps, proofs and code generation for kernels of n loop nests.

    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/many_nests.py [--most 400] [--only NAME]

There is no peer.  A kernel has n nests, one after the other: each a stencil of five points in two
dimensions, which reads one of five arrays and writes the next one of them, in turns.  Each time is
that of a kernel made anew, in a process that has done all of it before for a small one.  Behind
the time for 2 n nests stands by how much it exceeds that for n; in the end, the exponent of the
line through all of them with at least 50 nests, on logarithmic axes.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import polygen as pg
from polygen.ir.kernel import Kernel

SIZES = (10, 25, 50, 100, 200, 400)
ARRAYS = 5
FITTED_FROM = 50
STEPS = 20


def stencils(count: int, outside: str = "") -> Kernel:
    """Return a kernel of nests that read and write arrays in turns, in a loop if one is named."""
    nests = range(count)
    domains = [f"{{ [i{k},j{k}]: 1<=i{k}<n-1 and 1<=j{k}<n-1 }}" for k in nests]
    lines: list[str] = []
    for k in nests:
        i, j, a, b = f"i{k}", f"j{k}", f"a{k % ARRAYS}", f"a{(k + 1) % ARRAYS}"
        around = f"{a}[{i}-1,{j}] + {a}[{i}+1,{j}] + {a}[{i},{j}-1] + {a}[{i},{j}+1]"
        lines.append(f"{b}[{i},{j}] = 0.2*({a}[{i},{j}] + {around})  {{id=s{k}}}")
    if outside:
        domains.append(f"{{ [{outside}]: 0<={outside}<m }}")
        lines = [f"for {outside}", *lines, "end"]
    return pg.make_kernel(
        domains,
        "\n".join(lines),
        [*(pg.GlobalArg(f"a{x}", "float64", shape="n, n") for x in range(ARRAYS)), "..."],
        loop_priority=[f"i{k}, j{k}" for k in nests],
        seq_dependencies=True,
    )


def loops(count: int) -> Kernel:
    """Return a kernel of single loops, one after the other, that read and write arrays in turns."""
    return pg.make_kernel(
        [f"{{ [i{k}]: 0<=i{k}<n }}" for k in range(count)],
        "\n".join(
            f"a{(k + 1) % ARRAYS}[i{k}] = a{k % ARRAYS}[i{k}] + {k}  {{id=s{k}}}"
            for k in range(count)
        ),
        [*(pg.GlobalArg(f"a{x}", "float64", shape="n") for x in range(ARRAYS)), "..."],
        seq_dependencies=True,
    )


def tagged_in_turn(knl: Kernel) -> Kernel:
    """Tag one loop after the other."""
    for iname in knl.inames:
        knl = pg.tag_inames(knl, {iname: "g.0"})
    return knl


def tagged_at_once(knl: Kernel) -> Kernel:
    """Tag all loops in one step."""
    return pg.tag_inames(knl, dict.fromkeys(knl.inames, "g.0"))


def steps(knl: Kernel) -> Kernel:
    """Take 20 steps: five nests in tiles, tiles on threads, loops renamed and reversed."""
    last = len(knl.instructions) - 1
    for k in [last * part // (STEPS // 4) for part in range(STEPS // 4)]:
        i, j = f"i{k}", f"j{k}"
        knl = pg.tile(knl, {i: 32, j: 64})
        knl = pg.tag_inames(knl, {f"{i}_outer": "g.0"})
        knl = pg.rename_iname(knl, f"{j}_inner", f"lane{k}")
        knl = pg.reverse(knl, f"{j}_outer")
    return knl


def program(count: int) -> object:
    """Make a program of so many statements, take 20 steps, and generate C."""
    return pg.generate_code(steps(stencils(count)), "c")


def _nothing(count: int) -> int:
    return count


CASES: dict[str, tuple[Callable[[int], object], Callable[..., object]]] = {
    "make_kernel": (_nothing, stencils),
    "parallel_inames": (stencils, pg.parallel_inames),
    "parallel_inames in a time loop": (partial(stencils, outside="t"), pg.parallel_inames),
    "dependences": (stencils, pg.dependences),
    "find_schedule, C": (lambda n: stencils(n).copy(target="c"), pg.find_schedule),
    "find_schedule, CUDA": (lambda n: stencils(n).copy(target="cuda"), pg.find_schedule),
    "tag_inames in turn": (loops, tagged_in_turn),
    "tag_inames at once": (loops, tagged_at_once),
    "20 steps": (stencils, steps),
    "generate_code, C": (stencils, partial(pg.generate_code, target="c")),
    "generate_code, CUDA": (
        lambda n: tagged_at_once(loops(n)),
        partial(pg.generate_code, target="cuda"),
    ),
    "made, 20 steps, C": (_nothing, program),
}


def seconds(make: Callable[[int], object], do: Callable[..., object], count: int) -> float | None:
    """Return the CPU time of a case; None if isl has more to do than is allowed."""
    made = make(count)
    start = time.process_time()
    try:
        do(made)
    except pg.errors.ProofLimit:
        return None
    return time.process_time() - start


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the slope of the line through times on logarithmic axes."""
    xs, ys = [math.log(n) for n in sizes], [math.log(t) for t in times]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - mean_x) ** 2 for x in xs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--only", default="")
    parser.add_argument("--longest", type=float, default=60.0, help="leave out what takes longer")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, (make, do) in CASES.items():
        if chosen.only not in name:
            continue
        seconds(make, do, 6)
        found: dict[int, float] = {}
        for size in [n for n in SIZES if n <= chosen.most]:
            spent = seconds(make, do, size)
            if spent is None:
                print(f"{name:20} {size:4} nests: ProofLimit", flush=True)
                break
            half = found.get(size // 2)
            ratio = f"  x {spent / half:.2f}" if half else ""
            print(f"{name:20} {size:4} nests: {spent:8.3f} s{ratio}", flush=True)
            found[size] = spent
            if spent > chosen.longest:
                break
        fitted = {n: t for n, t in found.items() if n >= FITTED_FROM}
        if len(fitted) > 1:
            print(f"{name:20} grows as n^{exponent([*fitted], [*fitted.values()]):.2f}")


if __name__ == "__main__":
    main()
