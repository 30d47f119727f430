"""What is known of expressions at the points where two instructions are compared."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.dataflow.comparison_context import Context, Frame
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from tests.analysis.flat import points, where
from tests.oracle.cases import kernel

KNL = kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = x*a[i]  {id=s}",
    pg.ValueArg("x", "float64"),
    pg.GlobalArg("mask", "int32", ("n",)),
)
INAME, N, X = (ex.Variable(name) for name in "inx")
MASK = ex.Subscript(ex.Variable("mask"), INAME)


def _frame(name: str) -> Frame:
    return Frame(KNL, KNL.assignment("s"), {"i": name})


# The second instruction is where the first one is, shifted by one.
SHIFTED = Context(isl.Set("[n, p, q] -> { : 0 <= p < n and q = p + 1 }"), _frame("p"), _frame("q"))


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (INAME, ex.sum_of(INAME, -1), True),
        (ex.sum_of(INAME, 1), INAME, True),
        (ex.product_of(2, INAME), ex.sum_of(INAME, INAME, -2), True),
        (N, N, True),
        (3, 3, True),
        (INAME, INAME, False),
        (INAME, ex.sum_of(INAME, -2), False),  # always greater
        (INAME, ex.sum_of(INAME, -1, N), False),  # always less: n is not 0 where there is a point
        (INAME, 0, False),  # sometimes equal
        (INAME, ex.sum_of(N, -1), False),
        # No integers, or not affine.
        (X, X, False),
        (MASK, MASK, False),
        (ex.product_of(INAME, INAME), ex.product_of(INAME, INAME), False),
        (INAME, X, False),
        (X, INAME, False),
    ],
)
def test_one_value(old: Expression, new: Expression, equal: bool) -> None:
    assert SHIFTED.have_one_value(old, new) == equal


def test_integers_are_functions_of_the_context() -> None:
    frame = _frame("p")
    assert frame.integers == {"i", "n"}
    function = frame.integer(ex.sum_of(ex.product_of(2, INAME), N))
    assert function is not None
    for p, n in product(range(3), repeat=2):
        point = isl.Set(f"[p, n] -> {{ : p = {p} and n = {n} }}")
        assert function.intersect_params(point).max_val() == isl.Val(2 * p + n)
    assert frame.integer(X) is None
    assert frame.integer(MASK) is None
    assert frame.integer(ex.product_of(INAME, N)) is None


def test_conditions_are_sets_of_the_context() -> None:
    frame = _frame("p")
    holds = frame.holds(ex.Comparison(INAME, "<", N))
    assert holds is not None
    assert points(holds, ["p", "n"]) == where(lambda p, n: p < n, 2)
    assert frame.holds(ex.Comparison(X, "<", 1)) is None
    assert frame.holds(ex.Comparison(MASK, "<", 1)) is None


def test_certainty() -> None:
    affine, data = ex.Comparison(INAME, "<", N), ex.Comparison(MASK, ">", 0)
    assert _frame("p").is_certain
    assert _frame("p").under(affine).is_certain
    assert not _frame("p").under(data).is_certain
    assert not _frame("p").under(affine, data).is_certain
    assert _frame("p").under(affine).under(data).conditions == (affine, data)


def test_points_are_restricted() -> None:
    found = SHIFTED.restricted(isl.Set("[p] -> { : p >= 2 }")).points
    wanted = where(lambda n, p, q: 2 <= p < n and q == p + 1, 3)
    assert points(found, ["n", "p", "q"]) == wanted
