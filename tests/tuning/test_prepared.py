"""What comes before reductions are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.tuning.prepared import beside_rows, without_single_iterations
from tests.tuning.test_repeated import launches
from tests.tuning.test_whole_kernels import H200, largest_group

# Axes of one value, as networks have them: a maximum of rows, one of all, and a sum of all.
WITH_AXES_OF_ONE = """
m[i] = max((j,k), x[i,j,k])  {id=row}
y[p,q,r] = x[p,q,r]*x[p,q,r] + m[p]  {id=along}
c[b] = max((a,d), -x[a,b,d])  {id=all}
t[g] = sum((e,f,h), x[e,f,h])  {id=sum}
z[u,v] = m[u]*c[v] - t[0]  {id=both}
"""
DOMAIN = """{ [i,j,k,p,q,r,a,b,d,e,f,g,h,u,v]: 0<=i,a,e,p,u<%d and 0<=k,d,h,r<12
              and %d<=j,b,f,q,v<=%d and 0<=g<1 }"""


def kernel(rows: int, first: int = 0) -> pg.Kernel:
    knl = pg.make_kernel(
        DOMAIN % (rows, first, first),
        WITH_AXES_OF_ONE,
        [
            pg.TemporaryVariable("m", shape=(rows,)),
            pg.TemporaryVariable("c", shape=(first + 1,)),
            pg.TemporaryVariable("t", shape=(1,)),
            "...",
        ],
        silenced_warnings=["AmbiguousNesting"],
    )
    return pg.add_dtypes(knl, dict.fromkeys("xyzmct", "float64"))


@pytest.mark.parametrize("rows", [1, pytest.param(31, marks=pytest.mark.more), 512])
@pytest.mark.parametrize("first", [0, pytest.param(3, marks=pytest.mark.more)])
def test_loops_of_one_iteration_hide_nothing(rows: int, first: int) -> None:
    knl = pg.optimize_reductions(kernel(rows, first), H200)
    assert launches(knl) <= 2
    assert largest_group(knl) <= 1024
    x: Any = np.random.default_rng(rows).random((rows, first + 1, 12))
    _, (y, z) = knl.executor("c")(x=x)
    one = x[:, first, :]
    np.testing.assert_allclose(y[:, first, :], one * one + one.max(1)[:, None], rtol=1e-12)
    wanted = one.max(1) * (-one).max() - one.sum()
    np.testing.assert_allclose(z[:, first], wanted, rtol=1e-12)


def test_numbers_are_in_the_place_of_their_inames() -> None:
    knl = without_single_iterations(kernel(31, 3))
    text = str(knl)
    assert "m[i] = max(k, x[i, 3, k])" in text
    assert "c[3] = max((a, d), -x[a, 3, d])" in text
    assert "z[u, 3] = m[u]*c[3] - t[0]" in text
    assert all(len(i.within_inames) <= 2 for i in knl.instructions)


def test_loops_that_have_a_tag_stay() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<1 and 0<=j<n }", "s[i] = sum(j, x[i,j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"x": "float64"}), "i: g.0")
    assert without_single_iterations(knl) is knl


def test_nothing_to_do() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<4 and 0<=j<n }", "s[i] = sum(j, x[i,j])")
    assert without_single_iterations(knl) is knl


@pytest.mark.parametrize(("text", "dtype"), [("i + x[j]", "int32"), ("i*x[j]", "int64")])
def test_a_number_does_not_take_the_place_of_an_iname_where_types_would_change(
    text: str, dtype: str
) -> None:
    """Beside a uint8, an iname is an index, which does not wrap around; a number is a uint8."""
    arrays = [pg.GlobalArg("s", dtype, 4), pg.GlobalArg("x", "uint8", 50)]
    knl = pg.make_kernel("{ [i,j]: 3<=i<=3 and 0<=j<50 }", f"s[i] = max(j, {text})", arrays)
    assert without_single_iterations(knl) is knl
    x = np.arange(206, 256, dtype=np.uint8)
    _, (s,) = pg.optimize_reductions(knl, H200).executor("c")(x=x, s=np.zeros(4, dtype))
    assert s[3] == (3 + 255 if "+" in text else 3 * 255)


@pytest.mark.parametrize("element", ["a[k,k]", "a[k,0]"])
def test_elements_of_rows_stay_where_they_are(element: str) -> None:
    """What reads one element of each row has no loop along rows."""
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i,j<64 }", "{ [k]: 0<=k<64 }"],
        ["s[i] = sum(j, a[i,j])", f"b[k] = {element}"],
        [pg.GlobalArg("a", "float64", (64, 64)), "..."],
    )
    assert beside_rows(knl, {}, 4) is knl
