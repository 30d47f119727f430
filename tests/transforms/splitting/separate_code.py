"""Kernels, and steps that separate their code."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import QUIET, Step, kernel

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j", loop_priority="i, j")
CHAIN = kernel(
    "{ [i]: 0<=i<n }",
    "<> t = 2*a[i]\nb[i] = t + 1\nc[i] = b[i]*t  {if=i % 2 == 0}\nd[i] = b[i]",
    pg.GlobalArg("c", shape="n"),
    "...",
)
SIZES = [{"n": n} for n in (0, 1, 2, 3, 5, 8)]


def apart(*conditions: str) -> Step:
    """Return the step that separates by conditions."""

    def apply(knl: Kernel) -> Kernel:
        for condition in conditions:
            knl = pg.index_set_split(knl, condition)
        return knl

    return apply


def peeled(iname: str, first: int, last: int) -> Step:
    """Return the step that peels."""
    return lambda knl: pg.peel(knl, iname, first, last)


PRODUCT = pg.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    name="product",
    silenced_warnings=QUIET,
)


def tiled_product() -> Kernel:
    """Return a product of matrices with tiles in local memory, full ones apart."""
    knl = pg.add_dtypes(PRODUCT, {"a,b": "float32"})
    for axis, iname in enumerate("ji"):
        tags: Any = {"outer_tag": f"g.{axis}", "inner_tag": f"l.{axis}"}
        knl = pg.split_iname(knl, iname, 4, **tags)
    knl = pg.split_iname(knl, "k", 4)
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k_inner"], default_tag="l.auto")
    knl = pg.add_prefetch(knl, "b", ["j_inner", "k_inner"], default_tag="l.auto")
    return pg.separate_full_tiles(knl, "i_inner, j_inner, k_inner")


APART = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 0.0\nc[j] = 0.0")
ENDS = kernel("{ [i]: 0<=i<n or n+3<=i<2*n }", "out[i] = 0.0", pg.GlobalArg("out", shape="2*n + 1"))
