"""What comes before reductions are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.tuning.prepared import beside_rows, without_single_iterations
from tests.few import few
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
@few(1, "first", [0, 3])
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


def test_verbatim_c_that_names_a_whole_array() -> None:
    """It has no subscripts to compare with those of the sums."""
    knl = pg.make_kernel(
        "{ [i,p,r]: 0<=i,p,r<n }",
        """
        for i
            ... code(k=i) "q[k] = 2*o[k];" reads(o) writes(q)  {id=c}
        end
        y[p] = max(r, o[r])  {id=y, dep=c}
        """,
        [pg.GlobalArg("o, q", "float64", "n"), "..."],
        target="c",
        assumptions="n >= 1",
    )
    fast = pg.optimize(knl.copy(target="cuda"), H200, sizes={"n": 1000})
    assert fast.history
    o = np.random.default_rng(1).random(7)
    _, (q, y) = fast.copy(target=None).executor("c")(o=o)
    np.testing.assert_array_equal(q, 2 * o)
    np.testing.assert_array_equal(y, np.full(7, o.max()))


def test_no_row_is_left_to_go_along() -> None:
    """The scan reads what the sums read, but for each result, not for each element of a row."""
    knl = pg.make_kernel(
        ["{ [i]: 1<=i<n }", "{ [p,q]: 0<=p,q<n }"],
        "v[i] = fmin(v[i-1] + x[i], 9)\ny[p] = max(q, a[p,q]) + x[p]",
        [pg.GlobalArg("v, x, y", "float64", "n"), pg.GlobalArg("a", "float64", "n, n"), "..."],
        target="cuda",
        seq_dependencies=True,
        assumptions="n >= 1",
    )
    fast = pg.optimize(knl, H200, sizes={"n": 1000})
    assert "parallelize_reduction" in [step.name for step in fast.history]
    rng = np.random.default_rng(1)
    a, x, v = rng.integers(0, 9, (7, 7)) * 1.0, np.arange(7.0), np.zeros(7)
    _, (_, y) = fast.copy(target=None).executor("c")(a=a, x=x, v=v)
    np.testing.assert_array_equal(v, np.minimum(np.cumsum(x), 9))
    np.testing.assert_array_equal(y, a.max(1) + x)


def test_loops_around_rows_are_no_rows() -> None:
    """The statement in a loop of time goes along rows that the maxima read, in each step."""
    knl = pg.make_kernel(
        ["{ [s]: 0<=s<m }", "{ [k,l,u,v,p,q]: 0<=k,l,u,v,p,q<n }"],
        """
        y[p] = max(q, c[p,q]) + w[p]
        for s
            c[k,l] = fmin(c[k,l] + w[l], 9)
            z[u] = sum(v, c[u,v])
        end
        """,
        [pg.GlobalArg("w, y, z", "float64", "n"), pg.GlobalArg("c", "float64", "n, n"), "..."],
        target="cuda",
        seq_dependencies=True,
        assumptions="n >= 1",
        silenced_warnings=["AmbiguousNesting"],
    )
    fast = pg.optimize(knl, H200, sizes={"n": 1000, "m": 5})
    assert "parallelize_reduction" in [step.name for step in fast.history]
    rng = np.random.default_rng(2)
    c, w = rng.integers(0, 9, (7, 7)) * 1.0, np.arange(7.0)
    before = c.copy()
    _, (y, z, _) = fast.copy(target=None).executor("c")(c=c, w=w, m=2)
    np.testing.assert_array_equal(z, c.sum(1))
    np.testing.assert_array_equal(y, before.max(1) + w)
    np.testing.assert_array_equal(c, np.minimum(np.minimum(before + w, 9) + w, 9))


@pytest.mark.parametrize("element", ["a[k,k]", "a[k,0]"])
def test_elements_of_rows_stay_where_they_are(element: str) -> None:
    """What reads one element of each row has no loop along rows."""
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i,j<64 }", "{ [k]: 0<=k<64 }"],
        ["s[i] = sum(j, a[i,j])", f"b[k] = {element}"],
        [pg.GlobalArg("a", "float64", (64, 64)), "..."],
    )
    assert beside_rows(knl, {}, 4) is knl
