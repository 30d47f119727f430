"""`pad_reduction`: reductions whose bounds no longer depend on loops around."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotPaddable, UnknownIname
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, kernel, steps

BOUNDS = ("i<=k<n", "0<=k<i", "i-2<=k<=i+1 and 0<=k<n", "0<=k<n and (k+i) mod 2 = 0")


def rows(bounds: str, operation: str = "sum") -> pg.Kernel:
    return kernel(
        ["{ [i]: 0<=i<n }", f"{{ [k]: {bounds} }}"],
        f"out[i] = 1 + {operation}(k, a[i,k]*b[k])  {{id=out}}",
        pg.GlobalArg("a", np.float64, "n, n"),
        pg.GlobalArg("b", np.float64, "n"),
        pg.GlobalArg("out", np.float64, "n"),
    )


def padded(*inames: str) -> Step:
    """Return the step that makes bounds independent."""
    return lambda knl: pg.pad_reduction(knl, "k", ", ".join(inames))


@few(1, "bounds", BOUNDS)
@pytest.mark.parametrize("operation", ["sum", "product"])
def test_same_values(bounds: str, operation: str) -> None:
    knl = rows(bounds, operation)
    tiled = steps(lambda k: pg.split_iname(k, "i", 3), padded("i_inner"))
    sizes = [{"n": n} for n in (0, 1, 4, 7)]
    agree_in_arrays(knl, sizes, padded("i"), tiled)
    assert pg.pad_reduction(knl, "k", "i").home_domains["k"].parameters == ("n",)
    assert "i_inner" not in tiled(knl).home_domains["k"].parameters


def test_a_reduction_in_the_domain_of_rows() -> None:
    """Rows without a number stay away, as before."""
    for bounds in ("0<=k<i<n", "0<=i<n and i<=k<n"):
        knl = kernel(
            f"{{ [i,k]: {bounds} }}",
            "out[i] = sum(k, a[i,k])  {id=out}",
            pg.GlobalArg("a", np.float64, "n, n"),
            pg.GlobalArg("out", np.float64, "n"),
        )
        assert pg.pad_reduction(knl, "k", "i").home_domains["k"].inames == ("k",)
        tiled = steps(lambda k: pg.split_iname(k, "i", 3), padded("i_inner"))
        agree_in_arrays(knl, [{"n": n} for n in (0, 1, 4, 7)], padded("i"), tiled)


def test_numbers_that_are_added_do_no_harm() -> None:
    """Where there was no product, there is none: not of infinity with 0."""
    knl = pg.pad_reduction(rows("i<=k<n"), "k", "i").copy(target="c")
    a, b = np.tril(np.full((5, 5), np.inf), -1) + np.triu(np.ones((5, 5))), np.arange(5.0)
    _, (out,) = knl(a=a, b=b)
    np.testing.assert_array_equal(out, 1 + np.triu(np.ones((5, 5))) @ b)


def test_independent_bounds_stay() -> None:
    knl = rows("0<=k<n")
    assert pg.pad_reduction(knl, "k", "i") is knl


def test_refused() -> None:
    with pytest.raises(NotPaddable, match="'out' reduces by max"):
        pg.pad_reduction(rows("0<=k<=i", "max"), "k", "i")
    with pytest.raises(NotPaddable, match="'out_update' is in its loop, and no reduction of it"):
        pg.pad_reduction(pg.realize_reduction(rows("0<=k<i"), "out"), "k", "i")
    with pytest.raises(UnknownIname):
        pg.pad_reduction(rows("0<=k<i"), "k", "r")
    by_data = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<h }"],
        "<int32> h = c[i]  {id=h}\nout[i] = sum(k, a[i,k])  {id=out, dep=h}",
        pg.GlobalArg("a", np.float64, "n, 9"),
        pg.GlobalArg("c", np.int32, "n"),
        assumptions="n >= 0",
    )
    assert pg.pad_reduction(by_data, "k", "i") is by_data  # its bounds are data, and not loops
