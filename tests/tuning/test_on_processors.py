"""Reductions on processors: all forms, whatever the sizes are, as NumPy has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from benchmarks.cpu.reductions.data import Reduction, exact
from benchmarks.cpu.reductions.with_polygen import kernel
from polygen.errors import NotOptimized
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.tuning.on_processors import on_processors
from tests.oracle.cases import kernel as made

REDUCTIONS = (
    Reduction((40_003,), (0,)),
    Reduction((3, 33_000), (1,)),
    Reduction((301, 2_100), (0,), "max"),
    Reduction((1_000, 3), (0,), "sum", "int8"),
    Reduction((6, 5, 4, 3), (0, 2, 3)),
    Reduction((70, 9, 50), (0, 1), "min", "int32"),
)


def random_array(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
    return (100 * np.random.default_rng(2).normal(size=shape)).astype(dtype)


def close(found: Any, expected: Any) -> None:
    """Check a result: integers are exact, sums of floats within the rounding of many terms."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-2 * (found.dtype.kind == "f"))


@pytest.mark.parametrize("one", REDUCTIONS, ids=lambda one: one.name)
def test_sizes_that_are_known(one: Reduction) -> None:
    a = random_array(one.shape, one.dtype)
    close(kernel(one)(a=a)[1][0], exact(one, a))


def symbolic(text: str) -> Kernel:
    knl = made("{ [i,j]: 0<=i<n and 0<=j<m }", text, pg.GlobalArg("a", "float32", "n, m"))
    return on_processors(pg.add_dtypes(knl, {"a": "float32"}), "insn")


SHAPES = ((1, 1), (0, 3), (7, 5), (257, 9), (130, 2_050))


@pytest.mark.parametrize(
    ("text", "axis"), [("s[i] = sum(j, a[i,j])", 1), ("s[j] = sum(i, a[i,j])", 0)]
)
def test_sizes_that_are_not(text: str, axis: int) -> None:
    run = symbolic(text).executor("c")
    for shape in SHAPES:
        a = random_array(shape)
        close(run(a=a)[1][0], a.sum(axis, dtype=np.float64))


def test_two_results() -> None:
    knl = pg.set_options(symbolic("v[j], k[j] = argmax(i, a[i,j], i)"), silenced_warnings=[])
    a = random_array((300, 17))
    found, places = knl(a=a)[1][::-1]
    np.testing.assert_array_equal(found, a.max(0))
    np.testing.assert_array_equal(places, a.argmax(0))


def test_the_order_of_sums_may_be_kept() -> None:
    """Then threads have results, and nothing is added up in parts."""
    knl = pg.set_options(
        made("{ [i,j]: 0<=i<100 and 0<=j<m }", "s[i] = sum(j, a[i,j])"), allow_reassociation=False
    )
    knl = on_processors(pg.add_dtypes(knl, {"a": "float32"}), "insn")
    a = random_array((100, 1_000))
    expected = np.add.accumulate(a, axis=1)[:, -1]
    np.testing.assert_array_equal(knl(a=a)[1][0], expected)


PRODUCTS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("s[i] = sum(j, a[i,j]*b[j])", lambda a, b: a @ b),
    ("s[i] = sum(j, a[i,j] > b[j])", lambda a, b: (a > b).sum(1)),
)


@pytest.mark.parametrize(("text", "right"), PRODUCTS, ids=[text for text, _ in PRODUCTS])
def test_other_things_that_are_reduced(text: str, right: Any) -> None:
    knl = made("{ [i,j]: 0<=i<70 and 0<=j<300 }", text, target="c")
    knl = pg.optimize_reductions(pg.add_dtypes(knl, {"a, b": "float32"}), pg.Limits(1, 1))
    a, b = random_array((70, 300)), random_array(300)
    np.testing.assert_allclose(knl(a=a, b=b)[1][0], right(a, b), rtol=1e-4, atol=0.5)


def test_scans_stay_scans() -> None:
    knl = made("{ [i,j]: 0<=i<n and 0<=j<=i }", "s[i] = sum(j, a[j])", target="c")
    with pytest.warns(NotOptimized, match="it is a scan"):
        pg.optimize_reductions(pg.add_dtypes(knl, {"a": "float32"}), pg.Limits(1, 1))


def test_sums_that_need_earlier_ones() -> None:
    text = "s[i] = sum(j, a[i,j]*s[i-1])/max(j, a[i,j])"
    knl = made("{ [i,j]: 1<=i<n and 0<=j<100 }", text, target="c")
    knl = pg.optimize_reductions(pg.add_dtypes(knl, {"a, s": "float64"}), pg.Limits(1, 1))
    assert str(knl.tags["i"]) == "for"
    for n in (1, 2, 9):
        a, s = np.random.default_rng(n).random((n, 100)), np.ones(n)
        expected = s.copy()
        for i in range(1, n):
            expected[i] = (a[i] * expected[i - 1]).sum() / a[i].max()
        knl(a=a, s=s)
        np.testing.assert_allclose(s, expected, rtol=1e-12)


def test_what_is_left_is_told() -> None:
    tagged = pg.tag_inames(made("{ [i]: 0<=i<8 }", "s[0] = sum(i, a[i])", target="c"), {"i": "l.0"})
    with pytest.warns(NotOptimized, match="tagged"):
        pg.optimize_reductions(pg.add_dtypes(tagged, {"a": "float32"}), pg.Limits(1, 1))


def in_memory(names: str, shape: str) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(names, "float32", shape, pg.AddressSpace.GLOBAL)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# Several reductions: domain, text, temporaries, and what is right of x, 130 x 300.
SEVERAL: dict[str, tuple[str, str, list[Any], Callable[[Any], list[Any]]]] = {
    "softmax, in one loop": (
        "{ [i,j,k,l]: 0<=i<n and 0<=j,k,l<m }",
        "<> t = max(j, x[i,j])\n<> s = sum(k, exp(x[i,k] - t))\ny[i,l] = exp(x[i,l] - t)/s",
        [],
        lambda x: [softmax(x)],
    ),
    "softmax, in three": (
        "{ [i,j,i1,k,i2,l]: 0<=i,i1,i2<n and 0<=j,k,l<m }",
        """
        t[i] = max(j, x[i,j])                 {id=t}
        s[i1] = sum(k, exp(x[i1,k] - t[i1]))  {id=s, dep=t}
        y[i2,l] = exp(x[i2,l] - t[i2])/s[i2]  {dep=t:s}
        """,
        [in_memory("t, s", "n")],
        lambda x: [softmax(x)],
    ),
    "of rows, in one expression": (
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "y[i] = max(j, x[i,j]) - min(j, x[i,j])",
        [],
        lambda x: [np.ptp(x, 1)],
    ),
    "of all, in one expression": (
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "y[0] = max((i,j), x[i,j]) - min((i,j), x[i,j])",
        [],
        lambda x: [[np.ptp(x)]],
    ),
    "one in another": (
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "y[0] = max(i, sum(j, x[i,j]))",
        [],
        lambda x: [[x.sum(1).max()]],
    ),
    "of columns": (
        "{ [i,j]: 0<=i<130 and 0<=j<300 }",
        "y[j] = max(i, x[i,j])\nz[j] = sum(i, x[i,j])",
        [],
        lambda x: [x.max(0), x.sum(0)],
    ),
    "of all": (
        "{ [i,j]: 0<=i<130 and 0<=j<300 }",
        "y[0] = max((i,j), x[i,j])\nz[0] = sum((i,j), x[i,j])",
        [],
        lambda x: [[x.max()], [x.sum()]],
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_reductions(name: str) -> None:
    domain, text, temporaries, right = SEVERAL[name]
    knl = made(domain, text, *temporaries, target="c")
    knl = pg.optimize_reductions(pg.add_dtypes(knl, {"x": "float32"}), pg.Limits(1, 1))
    assert any(isinstance(tag, GroupTag) for tag in knl.tags.values())
    x = random_array((130, 300))
    for found, expected in zip(knl(x=x)[1], right(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=0.05)


@pytest.mark.parametrize("shape", [(70, 301), (3, 70_003)])
def test_places_are_found_after_values(shape: tuple[int, int]) -> None:
    text = "v[i], k[i] = argmin(j, a[i,j], j)"
    knl = made(f"{{ [i,j]: 0<=i<{shape[0]} and 0<=j<{shape[1]} }}", text, target="c")
    knl = pg.optimize_reductions(pg.add_dtypes(knl, {"a": "float32"}), pg.Limits(1, 1))
    assert "split_argmax" in [step.name for step in knl.history]
    a = random_array(shape).round()
    a[1, 150::100] = np.nan
    k, v = knl(a=a)[1]
    np.testing.assert_array_equal(k, a.argmin(1))
    np.testing.assert_array_equal(v, a.min(1))


# What shares loops with a reduction over columns: domain, text, and what is right of a.
BESIDE: dict[str, tuple[str, str, Callable[[Any], list[Any]]]] = {
    "what reads the same": (
        "{ [i,j]: 0<=i<3 and 0<=j<1 }",
        "s[i] = sum(j, a[i,j]*a[i,0])\nt[i] = a[i,0]*a[i,0]",
        lambda a: [a[:, 0] ** 2, a[:, 0] ** 2],
    ),
    "what is ahead, and what uses the result": (
        "{ [i,j]: 0<=i<100 and 0<=j<70 }",
        "<> q = 3*a[0,j]\n<> r = sum(i, a[i,j]*q)\ns[j] = r + q",
        lambda a: [3 * a[0] * a.sum(0) + 3 * a[0]],
    ),
    "what uses a result of parts": (
        "{ [i,j]: 0<=i<600 and 0<=j<40 }",
        "<> q = sum(i, a[i,j])\ns[j] = 2*q",
        lambda a: [2 * a.sum(0)],
    ),
    "what uses a result of few": (
        "{ [i,j]: 0<=i<3000 and 0<=j<3 }",
        "<> q = sum(i, a[i,j])\ns[j] = 2*q",
        lambda a: [2 * a.sum(0)],
    ),
    "another one": (
        "{ [i,j]: 0<=i<100 and 0<=j<70 }",
        "s[j] = sum(i, a[i,j])\nt[j] = max(i, a[i,j])\nu[j] = s[j]*t[j]",
        lambda a: [a.sum(0), a.max(0), a.sum(0) * a.max(0)],
    ),
}
_MORE = ("what uses a result of few", "another one")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.more) if n in _MORE else n for n in BESIDE]
)
def test_what_shares_the_loops_of_columns(name: str) -> None:
    """Rows are still added to blocks of results: others get loops of their own beside these."""
    domain, text, right = BESIDE[name]
    knl = pg.add_dtypes(pg.make_kernel(domain, text, target="c"), {"a": "float64"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left as it is, no priority ignored
        new = pg.optimize_reductions(knl, pg.Limits(1, 1))
    assert any(isinstance(tag, GroupTag) for tag in new.tags.values())
    shape: Any = knl.array("a").shape
    a = random_array(shape, "float64")
    for found, expected in zip(new(a=a)[1], right(a), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def test_a_short_sum_in_a_step_of_time_has_no_parts() -> None:
    """What is in each step takes a loop, and no memory for parts, unless it is expected long."""
    knl = made(
        ["{ [t]: 0<=t<n }", "{ [j]: 0<=j<t }"],
        "x[t] = b[t] - sum(j, x[j])",
        pg.GlobalArg("x", "float64", "n"),
        pg.GlobalArg("b", "float64", "n"),
    )
    short = on_processors(pg.tag_inames(knl, {"t": "for"}), "insn", {"n": 100})
    long = on_processors(pg.tag_inames(knl, {"t": "for"}), "insn", {"n": 100_000})
    assert not [t for t in short.temporaries if t.shape]
    assert [t for t in long.temporaries if t.shape]
    b = np.arange(1.0, 8.0)
    expected: list[float] = []
    for value in b:
        expected.append(value - sum(expected))
    for scheduled in (short, long):
        x = np.zeros(7)
        scheduled.executor("c")(x=x, b=b, n=7)
        np.testing.assert_array_equal(x, expected)
