"""CPU time of long recipes: of their steps, and of code generation after them, beside Loo.py.

    .venv/bin/pip install -e '.[benchmarks]'
    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/long_recipes.py

Both systems take the same steps on the same kernels, in one process that has done so before, in
turns; polygen with proofs.  Then, for polygen alone: a recipe of 25 steps for more instructions,
for more unrolled copies, and recipes of more steps.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import islpy as isl
import loopy
import numpy as np

import polygen as pg

RUNS = 5
Step: TypeAlias = tuple[Any, ...]

if not hasattr(isl.Aff, "is_equal"):  # see code_generation.py
    isl.Aff.is_equal = isl.Aff.plain_is_equal  # type: ignore[attr-defined]


def taken(system: Any, knl: Any, steps: Sequence[Step]) -> Any:
    """Take steps: a name, arguments, and arguments by name, each in either system."""
    for name, *arguments in steps:
        by_name = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        knl = getattr(system, name)(knl, *arguments, **by_name)
    return knl


def tiles(copies: int = 4) -> list[Step]:
    """Return 25 steps: three loops in two levels of tiles on the grid, renamed, one unrolled."""
    steps: list[Step] = [("assume", "n >= 1 and m >= 1 and l >= 1")]
    for axis, iname in enumerate("ijk"):
        part = f"{iname}_part"
        steps += [
            ("split_iname", iname, 16 * copies, {"outer_iname": f"{iname}_tile"}),
            (
                "split_iname",
                f"{iname}_inner",
                4 if iname != "k" else copies,
                {"outer_iname": part, "inner_iname": f"{iname}_item"},
            ),
            ("rename_iname", f"{iname}_tile", f"{iname}_group"),
            ("rename_iname", part, f"{iname}_piece"),
            ("rename_iname", f"{iname}_item", f"{iname}_lane"),
            ("tag_inames", f"{iname}_group:g.{axis}"),
        ]
    steps += [
        ("tag_inames", "i_lane:l.0"),
        ("tag_inames", "j_lane:l.1"),
        ("tag_inames", "k_lane:unr"),
        ("prioritize_loops", "i_piece,j_piece,k_piece"),
        ("assume", "n mod 4 = 0"),
        ("add_dtypes", {"dtype_dict": {"a": np.float32}}),
    ]
    return steps


DOMAIN = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }"


def product() -> tuple[Any, str, list[Step]]:
    """Return a product in tiles with prefetches and registers: the recipe of examples/sgemm.py."""
    steps: list[Step] = []
    for iname, axis in (("i", 1), ("j", 0)):
        steps += [
            ("split_iname", iname, 32, {"outer_tag": f"g.{axis}"}),
            (
                "split_iname",
                f"{iname}_inner",
                8,
                {"outer_iname": f"{iname}p", "inner_iname": f"{iname}t", "inner_tag": f"l.{axis}"},
            ),
        ]
    around = "i_outer,j_outer,k_outer"
    steps += [
        ("split_iname", "k", 8),
        ("prioritize_loops", "k_outer,k_inner"),
        ("assume", "n mod 32 = 0 and m mod 32 = 0 and l mod 8 = 0 and n>=32 and m>=32 and l>=8"),
        ("add_dtypes", {"dtype_dict": {"a": np.float32, "b": np.float32, "c": np.float32}}),
        ("privatize_temporaries_with_inames", "ip,jp"),
        ("duplicate_inames", "ip,jp", {"within": "id:clear", "suffix": "_clear"}),
        ("duplicate_inames", "ip,jp", {"within": "id:store", "suffix": "_store"}),
        ("prioritize_loops", "ip_clear,jp_clear"),
        ("prioritize_loops", "ip_store,jp_store"),
        ("prioritize_loops", "k_outer,k_inner,ip,jp"),
        ("tag_inames", "ip_clear:unr"),
        ("tag_inames", "jp_clear:unr"),
        ("tag_inames", "ip_store:unr"),
        ("tag_inames", "jp_store:unr"),
        ("tag_inames", "ip:unr"),
        ("tag_inames", "jp:unr"),
    ]
    for array, swept in (("a", ["ip", "it", "k_inner"]), ("b", ["k_inner", "jp", "jt"])):
        named = {"fetch_outer_inames": around, "default_tag": "l.auto"}
        steps.append(("add_prefetch", array, swept, named))
    text = """
        <> acc = 0  {id=clear, inames=i:j}
        acc = acc + a[i, k]*b[k, j]  {id=add, dep=clear, inames=i:j:k}
        c[i, j] = acc + c[i, j]  {id=store, dep=add, inames=i:j}
    """
    return DOMAIN, text, steps


def polygen_times(domain: Any, text: str, steps: Sequence[Step]) -> tuple[float, float]:
    """Return the time of the steps, and of code generation."""
    knl = pg.make_kernel(domain, text)
    start = time.process_time()
    knl = pg.apply(knl, steps)
    middle = time.process_time()
    str(pg.generate_code(knl, "opencl"))
    return middle - start, time.process_time() - middle


def loopy_times(domain: Any, text: str, steps: Sequence[Step]) -> tuple[float, float]:
    """Return the same for Loo.py."""
    knl = loopy.make_kernel(domain, text, lang_version=(2018, 2))
    start = time.process_time()
    knl = taken(loopy, knl, steps)
    middle = time.process_time()
    loopy.generate_code_v2(knl).device_code()
    return middle - start, time.process_time() - middle


_Case: TypeAlias = tuple[Any, str, list[Step]]


def medians(
    run: Callable[[Any, str, Sequence[Step]], tuple[float, float]], case: _Case
) -> tuple[float, float]:
    """Return the medians of several runs, in milliseconds."""
    times = [run(*case) for _ in range(RUNS)]
    steps, code = (1e3 * statistics.median(t[part] for t in times) for part in (0, 1))
    return steps, code


def beside_loopy() -> None:
    stencil = "out[i+1,j+1,k+1] = a[i,j+1,k+1] + a[i+2,j+1,k+1] - 2*a[i+1,j+1,k+1]"
    cases = {"three loops in tiles": (DOMAIN, stencil, tiles()), "product": product()}
    print("milliseconds of CPU time: steps, code; polygen / Loo.py")
    for name, case in cases.items():
        polygen_times(*case)
        loopy_times(*case)
        mine = medians(polygen_times, case)
        with pg.without_proofs():
            unproved = medians(polygen_times, case)
        peer = medians(loopy_times, case)
        print(
            f"{name:22}{len(case[2]):3} steps"
            f"{mine[0]:10.1f} / {peer[0]:7.1f}{mine[1]:10.1f} / {peer[1]:7.1f}"
            f"   ratio {sum(mine) / sum(peer):.3f}, unproved {sum(unproved) / sum(peer):.3f}"
        )


def growing() -> None:
    print("polygen, milliseconds of CPU time: steps, code")
    for n in (4, 8, 16, 32):
        text = "\n".join(f"out{q}[i,j,k] = a[i,j,k] + {q}" for q in range(n))
        _show(f"{n} instructions", n, text, tiles())
    for n in (8, 16, 32, 64):
        _show(f"{n} copies", n, "out[i,j,k] = 2*a[i,j,k]", tiles(n))
    for n in (1, 2, 4, 8):
        names = [step for k in range(n) for step in _renamed(k)]
        count = 25 + len(names)
        _show(f"{count} steps", count, "out[i,j,k] = 2*a[i,j,k]", [*tiles(), *names])


def _renamed(turn: int) -> list[Step]:
    """Return nine steps that give each loop another name."""
    return [
        ("rename_iname", f"{iname}_{part}{turn or ''}", f"{iname}_{part}{turn + 1}")
        for iname in "ijk"
        for part in ("group", "piece", "lane")
    ]


def _show(what: str, n: int, text: str, steps: Sequence[Step]) -> None:
    polygen_times(DOMAIN, text, steps)
    taken_for, code = medians(polygen_times, (DOMAIN, text, list(steps)))
    print(f"{what:18}{taken_for:10.1f}{code:10.1f}   ({(taken_for + code) / n:.2f} each)")


def main() -> None:
    """Measure and print."""
    if os.environ.get("POLYGEN_NO_CACHE") != "1":
        raise SystemExit("set POLYGEN_NO_CACHE=1: caches would be measured otherwise")
    warnings.simplefilter("ignore")
    loopy.set_caching_enabled(False)
    beside_loopy()
    growing()


if __name__ == "__main__":
    main()
