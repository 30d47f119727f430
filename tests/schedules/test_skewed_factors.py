"""Loops of products that count from another loop on: as slices of arrays are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.schedules.skewed_factors import with_skewed_factors
from tests.schedules.test_optimize import kernel, names, optimized

ROWS = "{ [i]: 0<=i<n }"


def covariance(index: str = "i+p") -> pg.Kernel:
    return kernel(
        [ROWS, "{ [p]: 0<=p<n-i }", "{ [k]: 0<=k<m }"],
        f"c[i+p,i] = sum(k, a[k,i]*a[k,{index}])/2  {{id=c}}\nd[i] = a[0,i]",
        pg.GlobalArg("c", np.float64, "n, n"),
        pg.GlobalArg("a", np.float64, "m, n"),
        assumptions="m >= 1",
    )


@pytest.mark.more
def test_a_triangle_of_a_product() -> None:
    new = optimized(covariance(), n=200, m=200)
    assert {"skew", "pad_tiles"} <= {*names(new)}
    for n, m in ((1, 1), (9, 5), (101, 3)):
        a, c, d = np.random.default_rng(n).random((m, n)), np.zeros((n, n)), np.zeros(n)
        new(a=a, c=c, d=d)
        np.testing.assert_allclose(c, np.tril(a.T @ a) / 2, rtol=1e-12)
        np.testing.assert_array_equal(d, a[0])


def test_a_product_with_a_triangle_in_place() -> None:
    """Rows read those below them, which are the old ones."""
    text = "b[i,j] = b[i,j] + sum(k, a[i+k+1,i]*b[i+k+1,j])  {id=b}"
    arrays = [pg.GlobalArg("a", np.float64, "n, n"), pg.GlobalArg("b", np.float64, "n, m")]
    knl = kernel([ROWS, "{ [j]: 0<=j<m }", "{ [k]: 0<=k<n-1-i }"], text, *arrays)
    new = optimized(knl, n=200, m=200)
    assert {"skew", "pad_reduction", "pad_tiles"} <= {*names(new)}
    for n, m in ((1, 1), (9, 5), (101, 30)):
        a, b = np.random.default_rng(n).random((n, n)), np.random.default_rng(m).random((n, m))
        expected = b + np.tril(a, -1).T @ b
        new(a=a, b=b)
        np.testing.assert_allclose(b, expected, rtol=1e-12)


def test_what_stays() -> None:
    """Subscripts that do not agree, and a loop that others are in."""
    knl = covariance("p")
    assert with_skewed_factors(knl, "c") is knl
    shared: Any = kernel(
        [ROWS, "{ [p]: 0<=p<n-i }"],
        "c[i+p] = 2*a[i+p]  {id=c, inames=i:p}\nd[p] = a[p]  {inames=i:p}",
        pg.GlobalArg("a, c, d", np.float64, "n"),
    )
    assert with_skewed_factors(shared, "c") is shared
