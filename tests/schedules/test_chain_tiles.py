"""Small tiles of loops that are executed in order, on one thread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.schedules.test_optimize import LIMITS, kernel, names

ONE = replace(LIMITS, compute_units=1)


def sweep(text: str = "a[i,j] = 0.25*(a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1])") -> Kernel:
    return kernel(
        "{ [i,j]: 1<=i<n-1 and 1<=j<m-1 }",
        text,
        pg.GlobalArg("a", np.float64, "n, m"),
        loop_priority="i, j",
    )


def optimized(knl: Kernel, n: int = 2000) -> Kernel:
    return pg.optimize(knl, ONE, sizes={"n": n, "m": n})


def test_what_waits_in_rows_and_columns_is_tiled() -> None:
    new = optimized(sweep())
    assert names(new) == ["tile", "separate_full_tiles"]
    for n, m in ((0, 0), (3, 3), (10, 10), (13, 40), (50, 9)):
        a = np.random.default_rng(n).random((n, m))
        wanted = a.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = wanted[i - 1, j] + wanted[i + 1, j] + wanted[i, j - 1] + wanted[i, j + 1]
                wanted[i, j] = 0.25 * around
        new(a=a)
        np.testing.assert_allclose(a, wanted, rtol=1e-14)


def test_what_goes_back_along_rows_is_not_tiled() -> None:
    """An element needs one of the row above, further right: it would be in a later tile."""
    new = optimized(sweep("a[i,j] = a[i-1,j+1] + a[i,j-1]"))
    assert not names(new)
    assert any(not c.is_taken and "tiles of 8 iterations" in c.what for c in new.choices)


def test_rows_that_wait_alone_are_not_tiled() -> None:
    assert "separate_full_tiles" not in names(optimized(sweep("a[i,j] = a[i-1,j] + 1")))


def test_few_iterations_are_not_tiled() -> None:
    assert not names(optimized(sweep(), 40))
