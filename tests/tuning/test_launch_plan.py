"""Which nests share a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.tuning.launch_plan import Unit, can_share, units_of
from tests.tuning.test_repeated import launches
from tests.tuning.test_whole_kernels import H200, largest_group

FEW, MANY = 1 << 10, 1 << 20


def unit(shape: tuple[int, int], count: int, groups: tuple[int, int, int] = (4, 1, 1)) -> Unit:
    return Unit((f"{shape}",), (*shape, 1), groups, count, frozenset(), repeats=False)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (unit((256, 1), MANY), unit((256, 1), MANY), True),
        (unit((256, 1), MANY), unit((512, 1), FEW), False),  # the long one would idle
        (unit((512, 1), MANY), unit((256, 1), FEW), True),
        (unit((8, 32), FEW), unit((32, 8), FEW), True),
        (unit((8, 32), FEW), unit((32, 8), MANY), False),
        (unit((256, 1), FEW), unit((32, 8), FEW), False),  # 2048 items
        (unit((64, 1), FEW), unit((64, 1), FEW, (4, 2, 1)), False),
    ],
)
def test_shapes(first: Unit, second: Unit, shared: bool) -> None:
    assert can_share([first, second]) == can_share([second, first]) == shared


def test_what_nobody_needs_waits_for_a_launch_where_it_fits() -> None:
    # The sum of all has groups of another shape than column minima; those of the nest fit.
    knl = pg.make_kernel(
        "{ [i,j,k,l,m,n]: 0<=i,k,m<1024 and 0<=j,l,n<3 }",
        """
        s[0] = sum((i,j), x[i,j]*x[i,j])
        t[l] = min(k, x[k,l])
        y[m,n] = x[m,n] - t[n]
        """,
        silenced_warnings=["AmbiguousNesting"],
    )
    knl = pg.optimize_reductions(pg.add_dtypes(knl, dict.fromkeys("xsty", "float64")), H200)
    assert launches(knl) == 2
    assert largest_group(knl) <= 1024
    x: Any = np.random.default_rng(4).random((1024, 3))
    _, (s, t, y) = knl.executor("c")(x=x)
    np.testing.assert_allclose(s, [(x * x).sum()], rtol=1e-12)
    np.testing.assert_array_equal(t, x.min(0))
    np.testing.assert_array_equal(y, x - x.min(0))


def test_tiles_of_two_shapes_share_a_launch() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k,l,m,n]: 0<=i,k,m<60 and 0<=j,l<8 and 0<=n<64 }",
        "y[i,j] = exp(x[i,j]*z[j,i])\nu[m,n] = v[m,n]*w[n,m]\ns[k] = sum(l, x[k,l]*x[k,l])",
        silenced_warnings=["AmbiguousNesting"],
    )
    knl = pg.optimize_reductions(pg.add_dtypes(knl, dict.fromkeys("xyzuvws", "float64")), H200)
    assert launches(knl) == 1
    assert largest_group(knl) <= 1024
    rng = np.random.default_rng(4)
    shapes = {"x": (60, 8), "z": (8, 60), "v": (60, 64), "w": (64, 60)}
    given: dict[str, Any] = {name: rng.random(shape) for name, shape in shapes.items()}
    _, found = knl.executor("c")(**given)
    right = {
        "y": np.exp(given["x"] * given["z"].T),
        "u": given["v"] * given["w"].T,
        "s": (given["x"] ** 2).sum(1),
    }
    outputs = [a.name for a in knl.arguments if a.name in knl.writers]
    for name, value in zip(outputs, found, strict=True):
        np.testing.assert_allclose(value, right[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(("length", "rows", "count"), [(1000, 100, 1), (1000, 2048, 2)])
def test_a_short_sum_beside_a_nest(length: int, rows: int, count: int) -> None:
    knl = pg.make_kernel(
        f"{{ [i,j,k]: 0<=i<{length} and 0<=j<{rows} and 0<=k<256 }}",
        "s[0] = sum(i, w[i])\ny[j,k] = 2*x[j,k]",
    )
    knl = pg.optimize_reductions(pg.add_dtypes(knl, dict.fromkeys("wxsy", "float64")), H200)
    assert launches(knl) == count
    rng = np.random.default_rng(4)
    w: Any = rng.random(length)
    x: Any = rng.random((rows, 256))
    _, (s, y) = knl.executor("c")(w=w, x=x)
    np.testing.assert_allclose(s, [w.sum()], rtol=1e-12)
    np.testing.assert_array_equal(y, 2 * x)


def test_nests_that_wait_for_column_sums_need_no_tiles() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k,l,m,n,p,q]: 0<=i,k,m,p<60 and 0<=j,l,n,q<197 }",
        """
        <> s = sum((i,j), x[i,j])
        t[l] = sum(k, x[k,l])
        y[m,n] = exp(x[m,n]) - t[n]
        z[p,q] = exp(x[p,q])*s
        """,
        silenced_warnings=["AmbiguousNesting"],
    )
    knl = pg.optimize_reductions(pg.add_dtypes(knl, dict.fromkeys("xtyz", "float64")), H200)
    assert launches(knl) == 2
    assert largest_group(knl) <= 1024
    x: Any = np.random.default_rng(4).random((60, 197))
    _, (t, y, z) = knl.executor("c")(x=x)
    np.testing.assert_allclose(t, x.sum(0), rtol=1e-12)
    np.testing.assert_allclose(y, np.exp(x) - x.sum(0), rtol=1e-12)
    np.testing.assert_allclose(z, np.exp(x) * x.sum(), rtol=1e-12)


def test_a_nest_between_statements_that_share_memory() -> None:
    """The nest needs `w[0]`, and is needed by what reads `w[0]` again: all are in one launch."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        w[0] = 2*x[0]              {id=first}
        v[i] = w[0] + x[i]         {id=nest, dep=first}
        u[0] = v[n - 1] - w[0]     {id=last, dep=first:nest}
        """,
        [pg.GlobalArg("x", "float64", "n"), "..."],
        assumptions="n >= 1",
    )
    tagged = pg.tag_inames(knl, {"i": "g.0"})
    assert [sorted(unit.ids) for unit in units_of(tagged, {"n": 9})] == [["first", "last", "nest"]]
    new = pg.optimize(knl.copy(target="opencl"), H200, sizes={"n": 9})
    x: Any = np.random.default_rng(5).random(9)
    _, found = new.copy(target=None).executor("c")(x=x, n=9)
    u, v, w = found
    np.testing.assert_array_equal(w, 2 * x[:1])
    np.testing.assert_array_equal(v, 2 * x[0] + x)
    np.testing.assert_array_equal(u, v[-1:] - w)


def test_nests_in_steps_of_time_have_launches_of_their_own() -> None:
    """Rows of one array beside all elements of another: groups of both would be n times n*m."""
    knl = pg.make_kernel(
        "{ [t,i,j,k,l]: 0<=t<T and 0<=i,k<n and 1<=j<m and 0<=l<m }",
        """
        for t
            u[i,j] = u[i,j] + 0.5*(w[i,j] - w[i,j-1])  {id=inner}
            v[k,l] = v[k,l] - 0.5*w[k,l]                {id=all}
            w[k,l] = w[k,l] + u[k,l]*v[k,l]             {id=next, dep=*}
        end
        """,
        [pg.GlobalArg("u, v, w", "float64", shape="n, m"), "..."],
        target="opencl",
        seq_dependencies=True,
    )
    fast = pg.optimize(knl, H200, sizes={"T": 100, "n": 1000, "m": 1200})
    assert launches(fast) == 3
    u, v, w = (np.random.default_rng(k).random((7, 9)) for k in range(3))
    found = [x.copy() for x in (u, v, w)]
    for _ in range(3):
        u[:, 1:] += 0.5 * (w[:, 1:] - w[:, :-1])
        v -= 0.5 * w
        w += u * v
    fast(u=found[0], v=found[1], w=found[2], T=3)
    for mine, meant in zip(found, (u, v, w), strict=True):
        np.testing.assert_allclose(mine, meant, rtol=1e-10, atol=1e-14)
