"""The kernels in polygen, for C with OpenMP: each a plain kernel, and steps."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.cpu import untransformed
from benchmarks.cpu.data import Data, Run
from examples import packed_product

FLOATS, DOUBLES = (packed_product.vector_bytes() // size for size in (4, 8))  # of a vector


def _calling(knl: pg.Kernel, d: Data, names: str, results: str = "out") -> Run:
    run_kernel = knl.executor("c")
    given = {name: d[name] for name in names.split()}
    found = [d[name] for name in results.split()]

    def run() -> Any:
        run_kernel(**given)
        return found[0] if len(found) == 1 else tuple(found)

    return run


def _in_lanes(knl: pg.Kernel, loop: str, lanes: int, operation: str, value: str) -> pg.Kernel:
    """Let each lane have a part of a reduction over a loop, and reduce the parts in the end.

    Parameters:
        knl: a kernel with a reduction.
        loop: the iname that it runs over.
        lanes: how many there are.
        operation: that of the reduction.
        value: what is reduced, in terms of the iname.
    """
    lane, vector = f"{loop}_lane", f"{loop}_vector"
    knl = pg.split_iname(knl, loop, lanes, inner_iname=lane, outer_iname=vector)
    knl = pg.split_reduction_outward(knl, lane)
    of_a_lane = f"{operation}({vector}, {value.format(f'{lanes}*{vector} + {lane}')})"
    knl = pg.extract_subst(knl, f"{loop}_part", of_a_lane, lane)
    return pg.precompute(knl, f"{loop}_part", lane, default_tag="vec")


def _few_cores() -> bool:
    return len(os.sched_getaffinity(0)) <= 4


# --- streams


def _stream(knl: pg.Kernel, lanes: int) -> pg.Kernel:
    knl = pg.split_iname(knl, "i", 1 << 12, outer_tag="g.0", inner_iname="i_near")
    return pg.strip_mine_to_vector(pg.separate_full_tiles(knl, "i_near"), "i_near", lanes)


def saxpy(d: Data) -> Run:
    knl = untransformed.saxpy()
    knl = pg.add_dtypes(knl, {"a, x, out": np.float32})
    return _calling(_stream(knl, FLOATS), d, "a x out")


def triad(d: Data) -> Run:
    knl = untransformed.triad()
    knl = pg.add_dtypes(knl, {"b, c, s": np.float64})
    return _calling(_stream(knl, DOUBLES), d, "b c s out")


def black_scholes(d: Data) -> Run:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        cumulative(x) := if(x > 0, 1 - tail(x), tail(x))
        tail(x) := 0.3989422804014327*exp(-0.5*x*x)*sum_of_powers(1/(1 + 0.2316419*fabs(x)))
        sum_of_powers(k) := (((quadratic(k))*k - 0.356563782)*k + 0.319381530)*k
        quadratic(k) := (1.330274429*k - 1.821255978)*k + 1.781477937
        <> spread = volatility*sqrt(years[i])
        <> d1 = (log(price[i]/strike[i]) + (rate + 0.5*volatility*volatility)*years[i])/spread
        <> d2 = d1 - spread
        <> now = strike[i]*exp(-rate*years[i])
        <> tail1 = tail(d1)
        <> tail2 = tail(d2)
        <> below1 = if(d1 > 0, 1 - tail1, tail1)
        <> below2 = if(d2 > 0, 1 - tail2, tail2)
        out[i] = price[i]*below1 - now*below2
        put[i] = now*(1 - below2) - price[i]*(1 - below1)
        """,
        name="black_scholes",
    )
    knl = pg.add_dtypes(knl, {"price, strike, years, rate, volatility": np.float64})
    names = "price strike years rate volatility out put"
    return _calling(_stream(knl, DOUBLES), d, names, "out put")


# --- stencils


def _several_rows(knl: pg.Kernel, rows: str, columns: str, count: int) -> pg.Kernel:
    """Compute some rows side by side: what they both read is loaded once.

    Parameters:
        knl: computes a value in one instruction, and stores it in another.
        rows: an iname that begins with 1.
        columns: that of the loop inside.
        count: how many rows.
    """
    near = f"{rows}_near"
    knl = pg.split_iname(pg.shift(knl, rows, -1), rows, count, inner_iname=near, inner_tag="ilp")
    knl = pg.separate_full_tiles(knl, near)
    return pg.strip_mine_to_vector(pg.shift(knl, columns, -1), columns, DOUBLES)


def stencil_5(d: Data) -> Run:
    knl = pg.make_kernel(
        "{ [i, j]: 1<=i<n-1 and 1<=j<m-1 }",
        """
        <> value = 0.2*(a[i-1, j] + a[i+1, j] + a[i, j-1] + a[i, j+1] + a[i, j])
        out[i, j] = value
        """,
        [pg.GlobalArg("a, out", np.float64, shape="n, m"), "..."],
        name="stencil_5",
        loop_priority="i, j",
    )
    knl = _several_rows(knl, "i", "j", 4)
    return _calling(pg.tag_inames(knl, {"i_outer": "g.0"}), d, "a out")


def stencil_27(d: Data) -> Run:
    knl = untransformed.stencil_27()
    knl = pg.strip_mine_to_vector(pg.shift(knl, "k", -1), "k", DOUBLES)
    return _calling(pg.tag_inames(knl, {"i": "g.0"}), d, "a w out")


def jacobi_2d(d: Data) -> Run:
    knl = pg.assume(untransformed.jacobi_2d(), "n >= 3 and m >= 3 and steps >= 1")
    for iname in ("j", "q"):
        knl = pg.strip_mine_to_vector(knl, iname, DOUBLES)
    if not _few_cores():  # there are more than tiles at once
        return _calling(pg.tag_inames(knl, {"i": "g.0", "p": "g.0"}), d, "steps out b")
    # Tiles of time and rows: what was written stays in a cache for some steps.
    knl = pg.skew(pg.fuse_loops(knl, "i", "p"), "t", "i", 2)
    knl = pg.wavefront(pg.tile(knl, {"t": 4, "i": 32}), "t_outer", "i_outer")
    return _calling(knl, d, "steps out b")


def heat_3d(d: Data) -> Run:
    knl = pg.assume(untransformed.heat_3d(), "n >= 3 and m >= 3 and l >= 3 and steps >= 1")
    # Where caches are not what is waited for, fewer loads are in two lines of one.
    lanes = DOUBLES if _few_cores() else DOUBLES // 2
    for iname in ("k", "r"):
        knl = pg.strip_mine_to_vector(pg.shift(knl, iname, -1), iname, lanes)
    return _calling(pg.tag_inames(knl, {"i": "g.0", "p": "g.0"}), d, "steps out b")


# --- reductions


def softmax(d: Data) -> Run:
    knl = pg.make_kernel(
        "{ [i, j, k, l, p]: 0<=i<n and 0<=j,k,l,p<m }",
        """
        for i
            <> most = max(j, x[i, j])
            out[i, k] = exp(x[i, k] - most)  {id=power}
            <> total = sum(l, out[i, l])  {id=total, dep=power}
            out[i, p] = out[i, p] / total  {id=divide, dep=total}
        end
        """,
        [pg.GlobalArg("x, out", np.float32, shape="n, m"), "..."],
        name="softmax",
        assumptions=f"m mod {FLOATS} = 0 and m >= {FLOATS}",
    )
    knl = _in_lanes(knl, "j", FLOATS, "max", "x[i, {}]")
    knl = _in_lanes(knl, "l", FLOATS, "sum", "out[i, {}]")
    for iname in ("k", "p"):
        knl = pg.strip_mine_to_vector(knl, iname, FLOATS)
    # Powers are added up as they come.
    knl = pg.remove_dependency(pg.realize_reduction(knl, "l_part"), "l_part_init", "power")
    knl = pg.fuse_loops(knl, "k_outer", "l_vector")
    return _calling(pg.tag_inames(knl, {"i": "g.0"}), d, "x out")


def csr_product(d: Data) -> Run:
    knl = untransformed.csr_product()
    knl = pg.split_iname(knl, "i", 256, outer_tag="g.0")
    # Each sum waits for the one before: longer if it is fused with a product.
    knl = pg.set_options(knl, build_options=["-ffp-contract=off"])
    return _calling(knl, d, "rowptr columns values x out")


# --- products


def _product(d: Data) -> Run:
    return _calling(packed_product.on_the_processor(d["a"].dtype.type, len(d["b"])), d, "a b out")


product_32 = product_64 = _product


def syrk(d: Data) -> Run:
    rows, columns = packed_product.ROWS, packed_product.VECTORS * DOUBLES
    # Sums are computed for all of a tile that has something of the lower triangle.
    touched = f"{columns}*floor(j/{columns}) <= {rows}*floor(i/{rows}) + {rows - 1}"
    knl = pg.make_kernel(
        f"{{ [i, j, k]: 0<=i,j<n and 0<=k<m and {touched} }}",
        """
        right(p, q) := a[q, p]
        for i, j
            <> acc = 0  {id=clear}
            for k
                acc = acc + a[i, k]*right(k, j)  {id=add, dep=clear}
            end
            out[i, j] = beta*out[i, j] + alpha*acc  {id=store, dep=add, if=j <= i}
        end
        """,
        [pg.GlobalArg("out", np.float64, shape="n, n"), "..."],
        name="syrk",
        assumptions=f"n mod {columns} = 0",
    )
    knl = pg.add_dtypes(knl, {"a, alpha, beta": np.float64})
    knl = pg.fix_parameters(knl, m=d["a"].shape[1])
    # All below each other, for a panel is copied with its rows as columns, which takes long.
    height = -(-len(d["out"]) // rows)
    knl = packed_product.in_registers(packed_product.tiled(knl, DOUBLES, height))
    return _calling(packed_product.packed(knl), d, "a alpha beta out")


# --- others


def floyd_warshall(d: Data) -> Run:
    knl = untransformed.floyd_warshall()
    for iname in ("j", "q"):
        knl = pg.strip_mine_to_vector(knl, iname, FLOATS)
    return _calling(pg.tag_inames(knl, {"i": "g.0", "p": "g.0"}), d, "start out")


def mandelbrot(d: Data) -> Run:
    knl = untransformed.mandelbrot()
    knl = pg.split_iname(knl, "j", 4 * DOUBLES, inner_iname="j_near")
    knl = pg.separate_full_tiles(knl, "j_near")
    knl = pg.split_iname(knl, "j_near", DOUBLES, outer_tag="ilp", inner_tag="vec")
    return _calling(pg.tag_inames(knl, {"i": "g.0"}), d, "x y limit out")
