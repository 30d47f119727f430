"""Tiles of time and rows, where a step of time moves more than caches hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.schedules.test_optimize import LIMITS, kernel, names

CACHE = replace(LIMITS, local_bytes=1 << 20)
ONE = replace(CACHE, compute_units=1)


def jacobi(far: int = 1) -> Kernel:
    def value(a: str, i: str, j: str) -> str:
        return f"0.25*({a}[{i}-{far},{j}] + {a}[{i}+{far},{j}] + {a}[{i},{j}-1] + {a}[{i},{j}+1])"

    return kernel(
        f"{{ [t,i,j,p,q]: 0<=t<T and {far}<=i,p<n-{far} and 1<=j,q<m-1 }}",
        f"""
        b[i,j] = {value("a", "i", "j")}  {{id=b, dep=*, inames=t:i:j}}
        a[p,q] = {value("b", "p", "q")}  {{id=a, dep=b, inames=t:p:q}}
        """,
        pg.GlobalArg("a, b", np.float64, "n, m"),
        loop_priority=["t, i, j", "t, p, q"],
    )


def stepped(a: Any, b: Any, steps: int, far: int) -> None:
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            up, down = x[: -2 * far, 1:-1], x[2 * far :, 1:-1]
            across = x[far:-far, :-2] + x[far:-far, 2:]
            y[far:-far, 1:-1] = 0.25 * (up + down + across)


@pytest.mark.parametrize(("units", "far"), [(1, 1), (2, 1), (1, 2)])
def test_steps_are_done_where_rows_are(units: int, far: int) -> None:
    limits = replace(CACHE, compute_units=units)
    new = pg.optimize(jacobi(far), limits, sizes={"n": 2000, "m": 1000, "T": 40})
    found = [name for name in names(new) if name in {"fuse_loops", "skew", "tile", "wavefront"}]
    assert found == ["fuse_loops", "skew", "tile", *["wavefront"][: units - 1]]
    (skewed,) = [step for step in new.history if step.name == "skew"]
    assert dict(skewed.arguments)["factor"] == 2 * far
    for n, m, steps in ((5, 3, 1), (40, 9, 17), (130, 5, 40), (6, 6, 0)):
        a, b = np.random.default_rng(n).random((2, n, m))
        wanted = a.copy(), b.copy()
        stepped(*wanted, steps, far)
        new(a=a, b=b, T=steps)
        np.testing.assert_allclose(a, wanted[0], rtol=1e-13)
        np.testing.assert_allclose(b, wanted[1], rtol=1e-13)


def test_sizes_without_a_row_inside_are_right() -> None:
    new = pg.optimize(jacobi(), ONE, sizes={"n": 2000, "m": 1000, "T": 40})
    for n, m in ((0, 0), (1, 1), (2, 2), (2, 9)):
        a, b = np.random.default_rng(n).random((2, n, m))
        before = a.copy(), b.copy()
        new(a=a, b=b, T=5)
        np.testing.assert_array_equal(a, before[0])
        np.testing.assert_array_equal(b, before[1])


def test_long_rows_are_tiled_too() -> None:
    """A plane is too large for tiles of planes alone."""
    text = "c[i,j,k] + c[i-1,j,k] + c[i+1,j,k] + c[i,j-1,k] + c[i,j+1,k] + c[i,j,k+1]"
    knl = kernel(
        "{ [t,i,j,k,p,q,r]: 0<=t<T and 1<=i,p<n-1 and 1<=j,q<n-1 and 1<=k,r<n-1 }",
        f"""
        b[i,j,k] = {text.replace("c", "a")}  {{id=b, dep=*, inames=t:i:j:k}}
        a[p,q,r] = 0.1*b[p,q,r] - b[p-1,q,r] + b[p,q+1,r]  {{id=a, dep=b, inames=t:p:q:r}}
        """,
        pg.GlobalArg("a, b", np.float64, "n, n, n"),
        loop_priority=["t, i, j, k", "t, p, q, r"],
    )
    new = pg.optimize(knl, ONE, sizes={"n": 100, "T": 20})
    assert names(new).count("skew") == 2
    n, steps = 40, 5
    a, b = np.random.default_rng(1).random((2, n, n, n))
    found = a.copy(), b.copy()
    new(a=found[0], b=found[1], T=steps)
    x = slice(1, -1)
    for _ in range(steps):
        b[x, x, x] = a[x, x, x] + a[:-2, x, x] + a[2:, x, x] + a[x, :-2, x] + a[x, 2:, x]
        b[x, x, x] += a[x, x, 2:]
        a[x, x, x] = 0.1 * b[x, x, x] - b[:-2, x, x] + b[x, 2:, x]
    np.testing.assert_allclose(found[0], a, rtol=1e-11)
    np.testing.assert_allclose(found[1], b, rtol=1e-11)


def test_steps_that_stay_in_caches_are_not_tiled() -> None:
    assert "tile" not in names(pg.optimize(jacobi(), ONE, sizes={"n": 300, "m": 300, "T": 40}))
    assert "tile" not in names(pg.optimize(jacobi(), ONE, sizes={"n": 2000, "m": 1000, "T": 2}))
    many = replace(CACHE, compute_units=64)
    assert "tile" not in names(pg.optimize(jacobi(), many, sizes={"n": 2000, "m": 1000, "T": 40}))


def test_steps_that_reach_all_rows_are_not_tiled() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t,i,j<n }",
        "a[i,j] = a[i,j] + a[t,j]",
        pg.GlobalArg("a", np.float64, "n, n"),
        loop_priority="t, i, j",
    )
    assert "tile" not in names(pg.optimize(knl, ONE, sizes={"n": 2000}))
