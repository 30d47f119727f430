"""Scalars between sums of products and the statements that use them."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.schedules.product_results import with_result
from tests.schedules.test_optimize import kernel, names, optimized

DOMAINS = ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"]


def gemm(end: str = "c[i,j] = x*acc + y*c[i,j]  {id=store, dep=add}") -> pg.Kernel:
    text = f"""
    for i, j
        <> acc = 0  {{id=clear}}
        for k
            acc = acc + a[i,k]*b[k,j]  {{id=add, dep=clear}}
        end
        {end}
    end
    """
    knl = kernel(DOMAINS, text, pg.GlobalArg("c", np.float64, "n, m"))
    scalars = {name: np.float64 for name in "xy" if name in knl.variables}
    return pg.add_dtypes(knl, {"a, b": np.float64, **scalars})


def test_a_loop_that_adds_up_is_a_product_in_tiles() -> None:
    new = optimized(gemm(), n=200, m=200, l=200)
    assert {"collect_reduction", "absorb_identity", "pad_iname"} <= {*names(new)}
    rng = np.random.default_rng(1)
    for n, m, length in ((1, 1, 1), (13, 30, 5), (100, 7, 390), (3, 4, 0)):
        a, b, c = (rng.random(shape) for shape in ((n, length), (length, m), (n, m)))
        expected = 1.5 * (a @ b) + 0.5 * c
        new(a=a, b=b, c=c, x=1.5, y=0.5)
        np.testing.assert_allclose(c, expected, rtol=1e-12)


def test_what_stays() -> None:
    """A result that two statements need, one under a condition, and none that is a scalar."""
    for end in (
        "c[i,j] = acc  {id=store, dep=add}\nd[i,j] = acc  {dep=add}",
        "c[i,j] = acc  {id=store, dep=add, if=c[i,j] > 0}",
    ):
        knl = pg.collect_reduction(gemm(end), "add", "k")
        assert with_result(knl, "add") == (knl, "add")
    other = kernel(DOMAINS, "c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}")
    assert with_result(other, "c") == (other, "c")
