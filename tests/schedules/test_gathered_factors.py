"""Factors that data chooses, on processors: arrays ahead of products; sums of few values."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.schedules.gathered_factors import with_gathered_factors
from tests.schedules.test_optimize import kernel, names, optimized

DOMAIN = "{ [e,i,q]: 0<=e<n and 0<=i<m and 0<=q<l }"
ARRAYS = (
    pg.GlobalArg("u", np.float32, "size"),
    pg.GlobalArg("scale", np.float32, "n"),
    pg.GlobalArg("left, right", np.int32, "n, l"),
    pg.GlobalArg("lift", np.float32, "l, m"),
)


def surface(columns: int = 33) -> pg.Kernel:
    text = """
    flux(q) := scale[e]*(u[left[e,q]] - u[right[e,q]])
    c[e,i] = sum(q, flux(q)*lift[q,i])  {id=c}
    """
    knl = kernel(DOMAIN, text, *ARRAYS, pg.GlobalArg("c", np.float32, "n, m"))
    return pg.fix_parameters(knl, m=columns)


def test_what_data_names_is_read_ahead_of_a_product() -> None:
    new = optimized(surface(), n=2000, l=100)
    assert "gathered" in str(new.temporaries)
    assert {"precompute", "pad_iname"} <= {*names(new)}
    rng = np.random.default_rng(1)
    for n, length in ((1, 1), (13, 5), (100, 70)):
        size = max(n, 9)
        u, scale = rng.random(size, np.float32), rng.random(n, np.float32)
        left, right = rng.integers(0, size, (2, n, length)).astype(np.int32)
        lift = rng.random((length, 33), np.float32)
        _, (c,) = new(u=u, scale=scale, left=left, right=right, lift=lift)
        wanted = (scale[:, None] * (u[left] - u[right])).astype(np.float64) @ lift
        np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=1e-5)


def test_other_factors_stay_where_they_are() -> None:
    knl = pg.add_dtypes(
        kernel(DOMAIN, "c[e,i] = sum(q, (a[e,q] + 1)*lift[q,i])  {id=c}"), {"a, lift": np.float32}
    )
    assert with_gathered_factors(knl, "c") is knl


def test_a_factor_of_all_loops_stays_where_it_is() -> None:
    """It has another value each time."""
    knl = kernel(
        DOMAIN,
        "c[e,i] = sum(q, u[left[e,q] + i]*lift[q,i])  {id=c}",
        *ARRAYS,
        pg.GlobalArg("c", np.float32, "n, m"),
    )
    assert with_gathered_factors(knl, "c") is knl


def test_sums_of_few_values_are_left_to_compilers() -> None:
    """They write out all values, and make vectors of the loop around."""
    knl = kernel(
        "{ [e,i,j,k]: 0<=e<n and 0<=i,j,k<8 }",
        "c[e,i,j] = sum(k, a[e,i,k]*b[e,k,j])",
        pg.GlobalArg("a, b, c", np.float32, "n, 8, 8"),
        loop_priority="e, i, j",
    )
    new = optimized(knl, n=10**5)
    assert {iname: str(tag) for iname, tag in new.tags.items()} == {"e": "g.0"}
    a, b = np.random.default_rng(1).random((2, 5, 8, 8), np.float32)
    np.testing.assert_allclose(new(a=a, b=b)[1][0], a @ b, rtol=1e-5)
