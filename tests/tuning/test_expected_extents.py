"""How long loops are expected to be, and which sums have blocks because of that."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.tuning.blocked_sums import levels_for
from polygen.tuning.expected_extents import expected_extent

LIMITS = pg.Limits(2e10, 3e10, compute_units=2)


def rows(values: Any = "nonzeros") -> Kernel:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
        """
        <> start = rowptr[i]
        <> end = rowptr[i + 1]
        y[i] = sum(j, values[j]*x[columns[j]])
        """,
        [
            pg.GlobalArg("values", np.float64, values),
            pg.GlobalArg("columns", np.int32, "nonzeros"),
            pg.GlobalArg("x", np.float64, "width"),
            pg.GlobalArg("rowptr", np.int32),
            "...",
        ],
        name="rows",
        target="c",
    )
    return knl.expanded


def test_shapes_say_how_long_rows_are() -> None:
    assert expected_extent(rows(), "j", {"n": 100, "nonzeros": 4800}) == 48
    assert expected_extent(rows("3*nonzeros"), "j", {"n": 100, "nonzeros": 4800}) == 144


def test_rows_of_which_nothing_is_known_are_short() -> None:
    assert expected_extent(rows(), "j", {"n": 1024, "nonzeros": 1024, "width": 1024}) == 16
    assert expected_extent(rows(), "j", {"n": 0, "nonzeros": 5}) == 16


def test_other_loops_have_what_sizes_say() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and i<=j<n }", "b[i,j] = i")
    assert expected_extent(knl, "i", {"n": 70}) == 70
    assert expected_extent(knl, "j", {"n": 70}) == 70  # in all, from the least to the largest


def test_blocks_are_for_long_loops() -> None:
    assert [levels_for(length, 64) for length in (48, 128, 129, 1024, 1025, 10**6)] == [
        *(0, 0, 1, 1, 2, 2)
    ]
    assert levels_for(10**6, 64, most=5) == 5


def made(**sizes: int) -> Kernel:
    return pg.optimize(rows(), LIMITS, sizes=sizes)


@pytest.mark.parametrize("mean", [4, 3000])
def test_long_rows_have_blocks_and_short_ones_do_not(mean: int) -> None:
    knl = made(n=2000, nonzeros=2000 * mean, width=2000)
    steps = [step.name for step in knl.history]
    assert ("split_reduction_inward" in steps) == (mean > 1000)
    lengths = np.array([0, 1, 200, 7, mean])
    start = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    rng = np.random.default_rng(mean)
    values, x = rng.random(start[-1]), rng.random(50)
    columns = rng.integers(0, 50, start[-1]).astype(np.int32)
    _, (y,) = knl(values=values, columns=columns, x=x, rowptr=start)
    wanted = [values[a:b] @ x[columns[a:b]] for a, b in itertools.pairwise(start)]
    np.testing.assert_allclose(y, wanted, rtol=1e-12)


@pytest.mark.parametrize("height", [20, 5000])
def test_few_rows_are_not_added_in_parts(height: int) -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "s[j] = sum(i, a[i,j])", target="c")
    knl = pg.add_dtypes(knl, {"a": np.float64})
    knl = pg.optimize_reductions(knl, LIMITS, sizes={"n": height, "m": 4000})
    steps = [step.name for step in knl.history]
    assert ("reduce_in_parts" in steps) == (height > 1000)
    a = np.random.default_rng(1).random((300, 40))
    np.testing.assert_allclose(knl(a=a)[1][0], a.sum(0), rtol=1e-12)
