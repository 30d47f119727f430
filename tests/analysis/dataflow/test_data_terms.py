"""Sums in subscripts: which of their terms have to be the same if the rest is."""

from __future__ import annotations

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.dataflow.comparison_context import Context, Frame
from polygen.analysis.dataflow.data_terms import data_terms
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from tests.oracle.cases import kernel
from tests.proof.patterns import array

# s and t are data: nothing says which numbers they are.
KNL = kernel(
    "{ [i]: 0<=i<n }",
    "s = idx[0]  {id=s}\nt = idx[1]  {id=t}\nout[i] = a[i] + s + t  {id=use, dep=s:t}",
    array("out", "n"),
    array("a", "n"),
    array("idx", "2", dtype="int32"),
    pg.TemporaryVariable("s, t", "int32", ()),
)
INAME, N, S, T = (ex.Variable(name) for name in "inst")
BEFORE = ex.sum_of(INAME, -1)
ELEMENT = ex.element(ex.Variable("a"), (INAME,))


def _shifted(points: str) -> Context:
    """Return the context in which the second instance is called q, the first p."""
    frames = (Frame(KNL, KNL.assignment("use"), {"i": name}) for name in "pq")
    return Context(isl.Set(points), *frames)


SHIFTED = _shifted("[n, p, q] -> { : 0 <= p < n and q = p + 1 }")


@pytest.mark.parametrize(
    ("old", "new", "terms"),
    [
        (ex.sum_of(S, INAME), ex.sum_of(BEFORE, S), ((S, S),)),
        (ex.sum_of(S, INAME), ex.sum_of(BEFORE, T), ((S, T),)),
        (ex.sum_of(S, T, INAME, N), ex.sum_of(N, T, BEFORE, S), ((S, S), (T, T))),
        (
            ex.sum_of(ex.product_of(3, S), ex.product_of(-1, T)),
            ex.sum_of(ex.product_of(-1, T), ex.product_of(3, S)),
            ((T, T), (S, S)),
        ),
        # Quotients and remainders by sizes come before names.
        (
            ex.sum_of(S, ex.floor_quotient(INAME, N), INAME),
            ex.sum_of(BEFORE, ex.floor_quotient(BEFORE, N), S),
            ((ex.floor_quotient(INAME, N), ex.floor_quotient(BEFORE, N)), (S, S)),
        ),
        (
            ex.remainder_of(ex.sum_of(S, ex.floor_quotient(INAME, N)), N),
            ex.remainder_of(T, N),
            (
                (
                    ex.remainder_of(ex.sum_of(S, ex.floor_quotient(INAME, N)), N),
                    ex.remainder_of(T, N),
                ),
            ),
        ),
    ],
)
def test_terms_that_have_to_be_the_same(
    old: Expression, new: Expression, terms: tuple[tuple[Expression, Expression], ...]
) -> None:
    assert data_terms(old, new, SHIFTED) == terms


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (INAME, BEFORE),  # no data
        (ex.sum_of(S, INAME), ex.sum_of(S, INAME)),  # the rest is another number
        (ex.sum_of(S, INAME), BEFORE),  # one term more
        (ex.sum_of(ex.product_of(2, S), INAME), ex.sum_of(S, BEFORE)),  # another factor
        (ex.sum_of(S, ex.product_of(INAME, INAME)), ex.sum_of(S, ex.product_of(BEFORE, BEFORE))),
        (ex.sum_of(ex.product_of(S, T), INAME), ex.sum_of(ex.product_of(S, T), BEFORE)),
        (ex.sum_of(ELEMENT, INAME), ex.sum_of(ELEMENT, BEFORE)),  # no sum of names and numbers
    ],
)
def test_no_terms_where_something_else_differs(old: Expression, new: Expression) -> None:
    assert data_terms(old, new, SHIFTED) == ()


def test_the_rest_is_compared_at_the_points_alone() -> None:
    one = _shifted("[n, p, q] -> { : p = 3 and q = 6 and n = 9 }")
    none = _shifted("[n, p, q] -> { : p < 0 and p > 0 }")
    twice = ex.product_of(2, INAME)
    assert data_terms(ex.sum_of(S, twice), ex.sum_of(S, INAME), one) == ((S, S),)
    assert data_terms(ex.sum_of(S, twice), ex.sum_of(S, INAME), SHIFTED) == ()
    assert data_terms(ex.sum_of(S, twice), ex.sum_of(S, INAME), none) == ((S, S),)
