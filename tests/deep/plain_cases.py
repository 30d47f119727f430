"""Kernels of one launch, in which work items have nothing to do with each other."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np

import polygen as pg
from tests.deep.case_table import Made, only_n, sizes

_EXAMPLES = Path(__file__).parents[2] / "examples"


# --- the examples


def _example(file: str, function: str) -> Any:
    return runpy.run_path(str(_EXAMPLES / f"{file}.py"))[function]


@sizes({"n": 17, "m": 5, "l": 18}, {"n": 16, "m": 16, "l": 16})
def product_on_the_grid() -> Made:
    knl: pg.Kernel = _example("tiled_product", "on_the_grid")()
    return knl


@sizes({"n": 18, "m": 17, "l": 5})
def product_in_loops() -> Made:
    knl: pg.Kernel = _example("tiled_product", "in_loops")()
    return knl


@sizes({"height": 3, "width": 7, "amount": np.float64(2)})
def unsharp_mask() -> Made:
    knl: pg.Kernel = _example("unsharp_mask", "make_unsharp_mask")()
    return pg.add_dtypes(knl, {"amount": np.float64})


@sizes(*only_n(1, 9))
def transpose_then_double() -> Made:
    make = _example("transpose_then_double", "make_transpose_then_double")
    knl: pg.Kernel = _example("transpose_then_double", "on_the_grid")(make())
    return knl


@sizes({"n": 7, "width": 5, "nonzeros": 12})
def sparse_product() -> Made:
    knl: pg.Kernel = _example("sparse_product", "make_sparse_product")()
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    given = {
        "rowptr": np.array([0, 0, 5, 5, 6, 9, 12, 12], np.int32),
        "columns": np.array([0, 1, 2, 3, 4, 4, 0, 2, 4, 1, 2, 3], np.int32),
    }
    return knl, given


# --- one launch, no shared memory


@sizes(*only_n(0, 1, 16, 17))
def guarded() -> Made:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    return pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(9))
def unrolled() -> Made:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i] = sum(j, a[i,j]) {id=row}\nmark[i] = i {dep=row}"
    )
    knl = pg.split_iname(knl, "j", 4, inner_tag="unr")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return pg.prioritize_loops(knl, "j_outer, j_inner")


@sizes(*only_n(7))
def triangle_on_the_grid() -> Made:
    knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[n-1-i,j]")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.1", inner_tag="l.1")
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(13))
def strides_and_pieces() -> Made:
    knl = pg.make_kernel(
        [
            "{ [i]: 0<=i<n and i mod 3 = 1 }",
            "{ [j]: 0<=j<n and (j<3 or j>7) }",
            "{ [k]: 2<=k<n }",
        ],
        "x[i] = a[i]\ny[j] = a[j]\nz[k] = a[k-2] + a[k//2] + a[(k-5)%n]",
        [pg.GlobalArg(name, shape="n") for name in "xyza"] + ["..."],
    )
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, 4, outer_tag="g.0", inner_tag="l.0")
    return knl


@sizes({"n": 6, "m": 5, "k": 4})
def three_axes() -> Made:
    knl = pg.make_kernel(
        "{ [x,y,z]: 0<=x<n and 0<=y<m and 0<=z<k }", "out[z,y,x] = a[z,y,n-1-x] + y"
    )
    for axis, iname in enumerate("xyz"):
        knl = pg.split_iname(knl, iname, 2, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    return knl


@sizes(*only_n(11))
def predicates() -> Made:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> small = a[i] < 3 {id=small}
        out[i] = a[i-1] + b[i] {if=i > 0 and small, dep=small}
        out[i] = -1 {id=first, if=i == 0, dep=*}
        """,
        [pg.GlobalArg("a", shape="n"), "..."],
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(9))
def all_reductions() -> Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }", "{ [k]: 0<=k<3 }"],
        """
        s[i] = sum(j, a[j]) * max(k, b[i,k])
        p[i] = product(k, b[i,k]) + min(j, a[j])
        """,
        [pg.GlobalArg("a", np.int32, shape="n"), pg.GlobalArg("b", np.int32, shape="n, 3"), "..."],
        silenced_warnings="ComputedAnew",
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(10))
def small_integers() -> Made:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        q[i] = a[i]//b[i]
        r[i] = a[i]%b[i]
        s[i] = a[i]*b[i] - a[i]
        t[i] = -a[i]
        """,
        [pg.GlobalArg("a", np.int8), pg.GlobalArg("b", np.int8), "..."],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    a = np.array([-128, -7, 7, -1, 127, 0, 5, -5, 3, 100], np.int8)
    b = np.array([3, 2, -2, 5, 127, -3, 7, -7, 1, 2], np.int8)
    return knl, {"a": a, "b": b}


@sizes(*only_n(9))
def in_place() -> Made:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = a[i]*a[i] + 1")
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(9))
def recurrence() -> Made:
    knl = pg.make_kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n }",
        "a[i,j] = a[i-1,j] + a[i,j]",
        [pg.GlobalArg("a", shape="n, n"), "..."],
    )
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(9))
def private_arrays() -> Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
        """
        t[j] = a[i,j] {id=fill, inames=i:j}
        out[i] = sum(k, t[k]*t[3-k]) {dep=fill, inames=i}
        """,
        [pg.TemporaryVariable("t", shape=(4,)), "..."],
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
