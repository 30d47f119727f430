"""Minima and maxima of nothing: errors, as in NumPy, where sizes alone decide; sums have values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import AssumptionViolated, EmptyReduction
from polygen.ir.kernel import Kernel

ROWS = "{ [i,j]: 0<=i<m and 0<=j<n }"


def _called(knl: Kernel, *shape: int) -> Any:
    _, found = knl.executor("c")(a=np.ones(shape))
    return found


@pytest.mark.parametrize(
    "value",
    ["min(j, a[i,j])", "max(j, a[i,j])", "argmin(j, a[i,j], j)[1]", "argmax(j, a[i,j], j)[0]"],
)
def test_as_numpy(value: str) -> None:
    knl = pg.make_kernel(ROWS, f"b[i] = {value}")
    assert pg.parse_kernel(str(knl)) == knl
    with pytest.raises(EmptyReduction, match="has nothing to reduce for m = 2, n = 0"):
        _called(knl, 2, 0)
    for rows in 0, 3:
        assert _called(knl, rows, 2)[0].shape == (rows,)
    assert _called(knl, 0, 0)[0].shape == (0,)  # no row has none


def test_what_steps_make_of_it() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "b[0] = max(j, a[j])  {id=b}")
    for form in (
        pg.split_iname(knl, "j", 8, inner_tag="l.0"),
        pg.parallelize_reduction(knl, "b", blocks=2, threads=4, items=2),
        pg.rename_iname(knl, "j", "k"),
    ):
        assert _called(form, 3)[0][0] == 1
        with pytest.raises(AssumptionViolated):
            _called(form, 0)


def test_sizes_that_are_fixed() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "b[0] = max(j, a[j])")
    assert _called(pg.fix_parameters(knl, n=4), 4)[0][0] == 1
    with pytest.raises(pg.UserError):
        pg.fix_parameters(knl, n=0)
    with pytest.raises(EmptyReduction, match="whatever the sizes are"):
        pg.make_kernel("{ [j]: 0<=j<0 }", "b[0] = max(j, j)")


def test_what_is_asked_of_nothing() -> None:
    """Another value beside it, a condition, rows of other lengths: as is documented."""
    of = {
        "b[0] = max(2, max(j, a[j]))": 2,
        "b[0] = min(min(j, a[j]), 7.5)": 7.5,
        "b[0] = max(j, a[j]) if n > 0 else -3": -3,
        "b[0] = sum(j, a[j]) - product(j, a[j])": -1,
        "b[0] = float64(any(j, a[j] > 0)) + 2*float64(all(j, a[j] > 0))": 2,
        "b[0] = compensated(sum)(j, a[j])": 0,
    }
    for text, right in of.items():
        knl = pg.make_kernel("{ [j]: 0<=j<n }", text, [pg.GlobalArg("b", np.float64, 1), "..."])
        assert _called(knl, 0)[0][0] == right, text
    before = pg.make_kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"], "b[i] = max(j, a[j])")
    assert list(_called(before, 3)[0]) == [-np.inf, 1, 1, 1]


def test_kernels_that_call_it() -> None:
    greatest_of = pg.make_function("{ [k]: 0<=k<m }", "y[0] = max(k, x[k])", ["m", "x", "y"])
    knl = pg.make_kernel(
        "{ [i]: 0<=i<3 }",
        "[j]: b[i, j] = greatest_of(n, [j]: a[i, j])",
        [pg.GlobalArg("a", np.float64, "3, n"), pg.GlobalArg("b", np.float64, "3, 1"), "..."],
        functions={"greatest_of": greatest_of},
    )
    assert (_called(knl, 3, 2)[0] == 1).all()
    with pytest.raises(EmptyReduction):
        _called(knl, 3, 0)
