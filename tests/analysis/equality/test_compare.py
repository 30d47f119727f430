"""Where two values are proved to be the same, beside executions."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.equality.compare import Comparison
from polygen.ir.kernel import Kernel
from tests.analysis.equality.small_kernels import (
    LINE,
    SUMMED,
    agreeing,
    at_end,
    at_sizes,
    numbers,
    ordered,
    value,
)

SIZES = [{"n": n} for n in (0, 1, 4)]
INSIDE = isl.Set("[n, __e] -> { : 0 <= __e < n }")
DATA = (
    *(numbers(name, "float64", "n") for name in ("a", "b", "out")),
    numbers("idx", "int32", "n"),
)

# Two kernels, the same wherever executions with all data leave the same.
PAIRS = {
    "everywhere": ("out[i] = 2*a[i]", "<> t = a[i]\nout[i] = 2*t"),
    "nowhere": ("out[i] = 2*a[i]", "out[i] = 3*a[i] + 1"),
    "in the first elements": ("out[i] = a[i]", "out[i] = if(i < 2, a[i], b[i])"),
    "in the last elements": ("out[i] = a[i]", "out[i] = if(i < 2, b[i], a[i])"),
    "where a part of a condition is": (
        "out[i] = if(i < 2 or a[i] > 0, 1, 2)",
        "out[i] = if(i < 3 or a[i] > 0, 1, 2)",
    ),
    "but in the middle": ("out[i] = a[i]", "out[i] = a[n-1-i]"),
    "in what nothing writes": ("out[i] = a[i] {if=i >= 3}", "out[i] = b[i] {if=i >= 3}"),
    "the other way round": ("out[i] = a[i] + b[i]", "out[i] = b[i] + a[i]"),
    "of what is overwritten": ("out[i] = out[i] + 1", "out[i] = a[i]\nout[i] = 1"),
    "data as a subscript": ("out[i] = a[idx[i]]", "<> t = idx[i]\nout[i] = a[t]"),
    "data as another subscript": ("out[i] = a[idx[i]]", "out[i] = a[idx[0]]"),
    "turned comparisons": ("out[i] = if(a[i] < 0, 1, 2)", "out[i] = if(0 > a[i], 1, 2)"),
    "other comparisons": ("out[i] = if(a[i] < 0, 1, 2)", "out[i] = if(a[i] <= 0, 1, 2)"),
    "where affine parts decide": (
        "out[i] = if(i < 2 and a[i] > 0, a[i], b[i])",
        "out[i] = if(a[i] > 0, a[i], b[i])",
    ),
    "what the domain says": (
        "out[i] = if(i < n and a[i] > 0, 1, 2)",
        "out[i] = if(a[i] > 0, 1, 2)",
    ),
    "a number of another type": ("out[i] = if(i < n, a[i], 0)", "out[i] = a[i]"),
    "numbers": ("out[i] = i - 1", "out[i] = 3 - i"),
    "conversions": ("<float32> t = float32(a[i])\nout[i] = t", "out[i] = float32(a[i])"),
    "wider and back": ("<int64> t = idx[i]\nout[i] = t", "out[i] = idx[i]"),
    "a loop that carries": ("out[i] = if(i > 0, out[i-1], a[i])", "out[i] = a[0]"),
}


@pytest.mark.parametrize("case", PAIRS)
def test_what_is_left_in_the_end(case: str) -> None:
    first, second = (ordered(LINE, text, *DATA) for text in PAIRS[case])
    comparison = Comparison(first, reorders=False)
    found = comparison.same(at_end(first, "out"), at_end(second, "out"), INSIDE)
    assert at_sizes(found, ["__e"], SIZES) == agreeing(first, second, "out", SIZES)


def _same(first: Kernel, second: Kernel, *, reorders: bool = False) -> isl.Set:
    """Compare what the instructions `s` of two kernels assign, in the same iteration."""
    pairs = isl.Set("[n, __i, __j] -> { : 0 <= __i < n and __i = __j }")
    comparison = Comparison(first, reorders=reorders)
    return comparison.same(value(first, "s", i="__i"), value(second, "s", i="__j"), pairs)


SUM_SIZES = [{"n": n, "m": m} for n in (0, 2) for m in (0, 1, 2, 4)]
EVERYWHERE = {(2, m, i, i) for m in (0, 1, 2, 4) for i in range(2)}
SUMS = {
    "terms": ("a[i] + (b[i] + 3)", "(a[i] + b[i]) + 3"),
    "a product of a sum": ("2*(a[i] + b[i])", "2*b[i] + 2*a[i]"),
    "a reduction": ("sum(k, c[k])", "sum(k, c[m-1-k])"),
}


@pytest.mark.parametrize("case", SUMS)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_sums_in_another_order(case: str, dtype: str) -> None:
    """Integers may be added up in any order; of rounded numbers, one or none has a single order."""
    data = [numbers(name, dtype, "n") for name in ("a", "b", "out")]
    data.append(numbers("c", dtype, "m"))
    first, second = (
        ordered(SUMMED, f"out[i] = {text} {{id=s}}", *data, name="sums") for text in SUMS[case]
    )
    few = {p for p in EVERYWHERE if p[1] <= 1} if case == "a reduction" else set[tuple[int, ...]]()
    exact = at_sizes(_same(first, second), ["__i", "__j"], SUM_SIZES)
    assert exact == (EVERYWHERE if dtype == "int64" else few)
    found = _same(first, second, reorders=True)
    assert at_sizes(found, ["__i", "__j"], SUM_SIZES) == EVERYWHERE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("min(a[i], b[i])", "min(b[i], a[i])"),
        ("min(a[i], min(b[i], 3.5))", "min(min(3.5, a[i]), b[i])"),
        ("max(k, c[k])", "max(k, c[m-1-k])"),
    ],
)
def test_extrema_are_the_same_in_any_order(one: str, other: str) -> None:
    first, second = (
        ordered(SUMMED, f"out[i] = {text} {{id=s}}", assumptions="m > 0") for text in (one, other)
    )
    wanted = {p for p in EVERYWHERE if p[1] > 0}
    sizes = [size for size in SUM_SIZES if size["m"] > 0]
    assert at_sizes(_same(first, second), ["__i", "__j"], sizes) == wanted


def test_nothing_is_compared_where_there_are_no_points() -> None:
    knl = ordered(LINE, "out[i] = a[i] {id=s}")
    points = isl.Set("[n, __i, __j] -> { : 1 = 0 }")
    found = Comparison(knl, reorders=True).same(
        value(knl, "s", "a[i]", i="__i"), value(knl, "s", "a[i]", i="__j"), points
    )
    assert found.is_empty()


def test_what_data_decides_is_an_obstacle() -> None:
    knl = ordered(LINE, "a[idx[i]] = b[i]\nout[i] = a[i] {id=s}", numbers("idx", "int32", "n"))
    comparison = Comparison(knl, reorders=True)
    pair = value(knl, "s", i="__i"), value(knl, "s", "b[i]", i="__j")
    points = isl.Set("[n, __i, __j] -> { : 0 <= __i < n and __i = __j }")
    assert comparison.same(*pair, points).is_empty()
    (obstacle,) = comparison.flow.obstacles
    assert obstacle.startswith("data decides which write of 'a' is seen")


@pytest.mark.parametrize(("last", "same"), [(3.0, True), (4.0, False)])
def test_tables_are_one_if_their_numbers_are(last: float, same: bool) -> None:
    first, second = (
        ordered(
            "{ [i]: 0<=i<3 }",
            f"out[i] = {name}[i] {{id=s}}",
            pg.TemporaryVariable(name, initializer=np.array([1.0, 2.0, end]), read_only=True),
            numbers("out", "float64", "n"),
            assumptions="n >= 3",
        )
        for name, end in (("t", 3.0), ("u", last))
    )
    found = at_sizes(_same(first, second), ["__i", "__j"], [{"n": 3}])
    assert found == ({(3, i, i) for i in range(3)} if same else set())
