"""Reductions on processors: all forms, whatever the sizes are, as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from benchmarks.cpu.reductions.data import Reduction, exact
from benchmarks.cpu.reductions.with_polygen import kernel
from polygen.errors import NotOptimized
from polygen.ir.kernel import Kernel
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
    knl = symbolic("v[j], k[j] = argmax(i, a[i,j], i)")
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


def test_what_is_left_is_told() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<100 }", "s[i] = sum(j, a[i,j])/max(j, a[i,j])")
    knl = pg.add_dtypes(knl.copy(target="c"), {"a": "float32"})
    with pytest.warns(NotOptimized, match="several reductions"):
        assert pg.optimize_reductions(knl, pg.Limits(1, 1)) is knl
    tagged = pg.tag_inames(made("{ [i]: 0<=i<8 }", "s[0] = sum(i, a[i])", target="c"), {"i": "l.0"})
    with pytest.warns(NotOptimized, match="tagged"):
        pg.optimize_reductions(pg.add_dtypes(tagged, {"a": "float32"}), pg.Limits(1, 1))
