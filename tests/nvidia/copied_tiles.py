"""Products of matrices whose tiles are copied asynchronously."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel

TILE = 4


def product(
    dtype: str = "float32",
    width: int | None = None,
    *,
    ahead: bool = True,
    whole: bool = False,
    alignment: int | None = None,
    name: str = "product",
) -> Kernel:
    """Return a product of matrices, both copied to local memory, perhaps a tile ahead."""
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        [
            pg.GlobalArg("a", dtype, "n, l", alignment=alignment),
            pg.GlobalArg("b", dtype, "l, m", alignment=alignment),
            "...",
        ],
        name=name,
    )
    if whole:
        knl = pg.assume(knl, " and ".join(f"{size} mod {TILE} = 0" for size in "nml"))
    knl = pg.split_iname(knl, "i", TILE, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", TILE)
    for array, swept in (("a", "i_inner, k_inner"), ("b", "k_inner, j_inner")):
        knl = pg.add_prefetch(knl, array, swept, vector_width=width, asynchronous=True)
    return pg.double_buffer(knl, "a_fetch, b_fetch", "k_outer") if ahead else knl


def matrices(dtype: str, n: int, m: int, l: int) -> list[Any]:  # noqa: E741
    rng = np.random.default_rng(n)
    return [rng.integers(-9, 9, shape).astype(dtype) for shape in ((n, l), (l, m))]
