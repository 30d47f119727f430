"""Sums and scans that work items of a group share, with shuffles and with trees in local memory.

    python benchmarks/cuda_shuffles.py

Of 2^28 numbers in single precision: all of them, by one atomic update for each group; and rows of
several lengths, of which each work item adds one number.  Beside them, torch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

import polygen as pg

cupy: Any = import_module("cupy")
torch: Any = import_module("torch")
N = 2**28
THREADS = 256
ROWS = ((32, 8), (64, 4), (256, 1), (1024, 1))  # how long they are, and how many a group adds up


def total(groups: int) -> pg.Kernel:
    """Let each work item add up numbers in eight places at once."""
    each = N // groups // THREADS
    knl = pg.make_kernel(
        f"{{ [b,k,j]: 0<=b<{groups} and 0<=k<{each} and 0<=j<{THREADS} }}",
        f"s[0] = s[0] + sum((k,j), a[({each}*b + k)*{THREADS} + j])  {{atomic}}",
        [pg.GlobalArg("s", "float32", 1), pg.GlobalArg("a", "float32", N)],
        name="total",
    )
    knl = pg.split_iname(knl, "k", 8, inner_tag="unr")
    return pg.tag_inames(knl, {"b": "g.0", "j": "l.0"})


def rows(length: int, together: int) -> pg.Kernel:
    """Let a group add up some rows."""
    knl = pg.make_kernel(
        f"{{ [i,j]: 0<=i<{N // length} and 0<=j<{length} }}", "out[i] = sum(j, a[i,j])", name="rows"
    )
    knl = pg.split_iname(
        pg.add_dtypes(knl, {"a": "float32"}), "i", together, outer_tag="g.0", inner_tag="l.1"
    )
    return pg.tag_inames(knl, {"j": "l.0"})


def scans(length: int, together: int) -> pg.Kernel:
    """Let a group scan some rows."""
    knl = pg.make_kernel(
        [f"{{ [i,j]: 0<=i<{N // length} and 0<=j<{length} }}", "{ [k]: 0<=k<=j }"],
        "out[i,j] = sum(k, a[i,k])",
        [pg.GlobalArg("a", "float32", (N // length, length)), "..."],
        name="scans",
    )
    knl = pg.split_iname(knl, "i", together, outer_tag="g.0", inner_tag="l.1")
    return pg.tag_inames(knl, {"j": "l.0"})


def microseconds(call: Callable[[], object]) -> float:
    """Return the median of the device's times."""
    times: list[float] = []
    for _ in range(23):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(1e3 * float(cupy.cuda.get_elapsed_time(start, end)))
    return median(times[3:])


def show(name: str, knl: pg.Kernel, arrays: dict[str, Any], result: Any, right: Any) -> None:
    """Print the times with local memory and with shuffles, and how wrong the second result is."""
    times: list[float] = []
    for size in (0, 32):
        result.fill(0)
        run = pg.set_options(knl, sub_group_size=size).executor("cuda")
        run(**arrays)
        wrong = float(abs(result - right).max() / abs(right).max())
        times.append(microseconds(lambda run=run: run(**arrays)))  # type: ignore[misc]
    print(f"| {name} | {times[0]:.0f} | {times[1]:.0f} | {wrong:.1e} |", flush=True)


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    a = cupy.random.default_rng(1).random(N, dtype=cupy.float32)
    of_torch = torch.as_tensor(a, device="cuda")
    right = a.sum(dtype=cupy.float64)
    print("| sums of 2^28 numbers | local memory, us | shuffles, us | relative error |")
    print("| --- | --- | --- | --- |")
    for groups in (1024, 4096, 16384):
        s = cupy.zeros(1, cupy.float32)
        show(f"all, {groups} groups", total(groups), {"a": a, "s": s}, s, right)
    print(f"| all, torch.sum | | {microseconds(of_torch.sum):.0f} | |")
    for length, together in ROWS:
        table = a.reshape(-1, length)
        sums = table.sum(1, dtype=cupy.float64)
        out = cupy.zeros(len(table), cupy.float32)
        show(f"rows of {length}", rows(length, together), {"a": table, "out": out}, out, sums)
        lines = of_torch.reshape(-1, length)
        by_torch = microseconds(lambda lines=lines: lines.sum(1))  # type: ignore[misc]
        print(f"| rows of {length}, torch.sum | | {by_torch:.0f} | |", flush=True)
    for length, together in ROWS:
        table, out = a.reshape(-1, length), cupy.zeros((N // length, length), cupy.float32)
        arrays = {"a": table, "out": out}
        show(f"scans of {length}", scans(length, together), arrays, out, cupy.cumsum(table, axis=1))
        lines = of_torch.reshape(-1, length)
        by_torch = microseconds(lambda lines=lines: lines.cumsum(1))  # type: ignore[misc]
        print(f"| scans of {length}, torch.cumsum | | {by_torch:.0f} | |", flush=True)


if __name__ == "__main__":
    main()
