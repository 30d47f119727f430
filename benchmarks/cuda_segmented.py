"""Scans, histograms, sums by labels, and sparse rows, on a GPU.

    python benchmarks/cuda_segmented.py [scans] [histograms] [labels] [rows]

Beside each, what PyTorch and CuPy have for it.  All results are compared with PyTorch's; numbers
are whole, so that sums of floating-point numbers are exact in any order.
"""

# Each call is made before the next one is yielded.
# ruff: noqa: B023

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from statistics import median
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from examples import balanced_rows

torch: Any = import_module("torch")
cupy: Any = import_module("cupy")
Rows: TypeAlias = Iterator[tuple[str, Callable[[], Any], Callable[[], bool] | None]]
VECTOR: dict[str, Any] = {
    "vector_width": 4,
    "temporary_address_space": pg.AddressSpace.PRIVATE,
    "default_tag": None,
}


def microseconds(call: Callable[[], object]) -> float:
    """Return the median of the device's times."""
    times: list[float] = []
    for _ in range(23):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(1e3 * float(start.elapsed_time(end)))
    return median(times[3:])


# --- scans


def scan(items: int = 256, each: int = 4) -> pg.Kernel:
    """Give each group a part of `items` times `each` numbers."""
    part = items * each
    data = [pg.GlobalArg("a", alignment=16), pg.GlobalArg("b", alignment=16), "..."]
    knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j])", data, name="scan")
    knl = pg.split_scan(pg.add_dtypes(knl, {"a, b": np.float32}), "i", part)
    groups = ["i_outer", "i_total", "i_before_outer", "i_before_total"]
    knl = pg.split_scan(knl, "i_before", 256)
    knl = pg.tag_inames(knl, {"i_before_inner": "l.0", "j_before_total": "l.0"})
    knl = pg.split_iname(knl, "i_before_before", 256, inner_tag="l.0")
    knl = pg.split_scan(knl, "i_inner", each, temporary_scope="local", within="writes:b")
    items_of = ("i_inner_total", "i_inner_before", "i_inner_outer")
    knl = pg.tag_inames(knl, {**dict.fromkeys(groups, "g.0"), **dict.fromkeys(items_of, "l.0")})
    knl = pg.split_iname(knl, "j_total", items, outer_tag="unr", inner_tag="l.0")
    knl = pg.add_prefetch(knl, "a", "j_inner_total", within="writes:total_j_inner", **VECTOR)
    outer: dict[str, Any] = {"fetch_outer_inames": "i_outer, i_inner_outer"}
    knl = pg.add_prefetch(
        knl, "a", "j_inner_inner, i_inner_inner", within="writes:b", **VECTOR, **outer
    )
    knl = pg.buffer_array(
        knl, "b", "i_inner_inner", default_tag=None, temporary_scope=pg.AddressSpace.PRIVATE
    )
    knl = pg.tag_inames(knl, {"b_store_0": "vec"})
    knl = pg.tag_inames(knl, {"i_inner_inner": "unr"})
    return pg.index_set_split(knl, f"{part}*i_outer + {part} < n")


def scans() -> Rows:
    """Yield scans of 2^28 numbers, and of fewer."""
    knl = scan()
    for count in (2**16, 2**20, 2**24, 2**28):
        a = torch.randint(-9, 10, (count,), device="cuda").float()
        b, wanted = torch.empty_like(a), torch.cumsum(a, 0)
        as_cupy = cupy.asarray(a), cupy.asarray(b)
        yield f"{count}: copy", lambda: b.copy_(a), None
        yield f"{count}: torch.cumsum", lambda: torch.cumsum(a, 0, out=b), None
        yield f"{count}: cupy.cumsum", lambda: cupy.cumsum(as_cupy[0], out=as_cupy[1]), None
        yield f"{count}: polygen", lambda: knl(a=a, b=b), lambda: bool((b == wanted).all())


# --- histograms


def histogram(bins: int, items: int = 1024, each: int = 64) -> pg.Kernel:
    """Let each group count in local memory, and each work item load four numbers at once."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "<> bin = data[i]\ncount[bin] += 1  {atomic}",
        [
            pg.GlobalArg("count", np.int32, bins),
            pg.GlobalArg("data", np.int32, alignment=16),
            "...",
        ],
    )
    knl = pg.split_iname(knl, "i", items * each, outer_tag="g.0")
    knl = pg.privatize_atomics(knl, "count", "i_outer")
    knl = pg.split_iname(pg.split_iname(knl, "i_inner", 4), "i_inner_outer", items, inner_tag="l.0")
    knl = pg.add_prefetch(knl, "data", "i_inner_inner", **VECTOR)
    knl = pg.tag_inames(knl, {"i_inner_inner": "unr"})
    return pg.index_set_split(knl, f"{items * each}*i_outer + {items * each} <= n")


def histograms() -> Rows:
    """Yield histograms of 2^26 numbers: random ones, and equal ones."""
    for bins in (256, 4096):
        knl, count = histogram(bins), torch.zeros(bins, dtype=torch.int32, device="cuda")
        random = torch.randint(0, bins, (2**26,), device="cuda", dtype=torch.int32)
        for name, data in (("random", random), ("equal", torch.full_like(random, 7))):
            what, wanted = f"{bins} bins, {name}", torch.bincount(data, minlength=bins)
            as_cupy = cupy.asarray(data)

            def is_right() -> bool:
                count.zero_()
                knl(data=data, count=count)
                return bool((count == wanted).all())

            yield f"{what}: torch.bincount", lambda: torch.bincount(data, minlength=bins), None
            yield f"{what}: cupy.bincount", lambda: cupy.bincount(as_cupy, minlength=bins), None
            yield f"{what}: polygen", lambda: knl(data=data, count=count), is_right


# --- sums by labels


def by_label(labels: int, rows: int) -> pg.Kernel:
    """Let each group add up some rows, 32 columns at a time, in local memory; 0 for none."""
    data = [pg.GlobalArg("c", np.float32, (labels, 64)), pg.GlobalArg("label", np.int32)]
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<64 }",
        "c[label[i],j] += x[i,j]  {atomic}",
        [*data, pg.GlobalArg("x", np.float32), "..."],
    )
    if rows == 0:
        knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.1")
        return pg.tag_inames(knl, {"j": "l.0"})
    knl = pg.split_iname(knl, "j", 32, outer_tag="g.1", inner_tag="l.0")
    knl = pg.split_iname(knl, "i", rows, outer_tag="g.0")
    knl = pg.split_iname(knl, "i_inner", 8, inner_tag="l.1")
    return pg.privatize_atomics(knl, "c", "i_outer, j_outer")


def labels() -> Rows:
    """Yield sums of 2^20 rows of 64 numbers by 256 labels."""
    x = torch.randint(-4, 5, (2**20, 64), device="cuda").float()
    random = torch.randint(0, 256, (2**20,), device="cuda", dtype=torch.int32)
    c = torch.zeros(256, 64, device="cuda")
    for name, label in (("random", random), ("equal", torch.full_like(random, 3))):
        wide = label.long()
        wanted = torch.zeros_like(c).index_add_(0, wide, x)
        yield f"{name}: torch.index_add_", lambda: c.index_add_(0, wide, x), None
        for how, rows in (("in local memory", 1024), ("in global memory", 0)):
            knl = by_label(256, rows)

            def is_right() -> bool:
                c.zero_()
                knl(c=c, label=label, x=x)
                return bool((c == wanted).all())

            yield f"{name}: {how}", lambda: knl(c=c, label=label, x=x), is_right


# --- sparse rows


def product(lanes: int) -> pg.Kernel:
    """Let so many work items add up a row of a sparse matrix."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: first<=j<last }"],
        """
        <> first = start[i]
        <> last = start[i + 1]
        y[i] = sum(j, values[j] * x[columns[j]])
        """,
        [
            pg.GlobalArg("values", np.float32, "nonzeros"),
            pg.GlobalArg("columns", np.int32, "nonzeros"),
            pg.GlobalArg("x", np.float32, "m"),
            pg.GlobalArg("start", np.int32),
            "...",
        ],
    )
    if lanes == 1:
        return pg.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", lanes, inner_tag="l.0")
    return pg.split_iname(knl, "i", max(1, 256 // lanes), outer_tag="g.0", inner_tag="l.1")


def rows() -> Rows:
    """Yield products with sparse matrices: even rows, and rows of which one has 2^20 elements."""
    rng = np.random.default_rng(0)
    uneven = np.minimum((rng.pareto(1.2, 2**18) * 6).astype(np.int64), 2**17)
    uneven[2**17] = 2**20
    lengths = {f"about {m}": rng.integers(0, 2 * m + 1, 2**23 // m) for m in (4, 32, 512)}
    for name, own in {**lengths, "uneven": uneven}.items():
        n, start = len(own), torch.from_numpy(np.cumsum([0, *own]).astype(np.int32)).cuda()
        nonzeros = int(own.sum())
        col = torch.randint(0, n, (nonzeros,), device="cuda", dtype=torch.int32)
        val = torch.randint(-4, 5, (nonzeros,), device="cuda").float()
        x, y = torch.randint(-4, 5, (n,), device="cuda").float(), torch.empty(n, device="cuda")
        matrix = torch.sparse_csr_tensor(start, col, val, size=(n, n))
        wanted = matrix @ x
        yield f"{name}: torch", lambda: matrix @ x, None
        ways = {f"{lanes} work items a row": product(lanes) for lanes in (1, 4, 8, 32, 256)}
        for lanes in (4, 8, 32):
            rows = balanced_rows.ITEMS // lanes
            even = balanced_rows.make_balanced_product(dtype=np.float32, rows=rows)
            ways[f"{lanes} work items, balanced"] = balanced_rows.in_groups(even, lanes)
        for how, knl in ways.items():
            yield (
                f"{name}: {how}",
                lambda: knl(start=start, columns=col, values=val, x=x, y=y),
                lambda: bool((y == wanted).all()),
            )


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    parts = {"scans": scans, "histograms": histograms, "labels": labels, "rows": rows}
    for name in sys.argv[1:] or parts:
        print(f"| {name} | us |\n| --- | --- |")
        for what, call, is_right in parts[name]():
            call()
            right = is_right is None or is_right()
            wrong = "" if right else " WRONG"
            print(f"| {what} | {microseconds(call):.0f}{wrong} |", flush=True)


if __name__ == "__main__":
    main()
