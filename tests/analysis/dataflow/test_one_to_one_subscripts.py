"""New subscripts of an array: whether two elements get the same, by counting elements."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.dataflow.one_to_one_subscripts import is_beyond_proofs, is_one_to_one
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from tests.oracle.cases import kernel
from tests.proof.patterns import array

Subscripts = tuple[Any, ...]  # expressions for the module, numbers to count
KNL = kernel(
    "{ [i]: 0<=i<n }",
    "x[i] = a[0, 0] {id=s}",
    array("x", "n"),
    array("y", "n, m"),
    array("a", "4, 6"),
    array("z", ""),
    pg.ValueArg("m", "int32"),
    assumptions="n <= 8 and m >= 1",
)


def _rule(index: Callable[..., Subscripts]) -> Callable[[Subscripts], tuple[Expression, ...]]:
    return lambda subscripts: index(*subscripts)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda r, c: (r, c), True),
        (lambda r, c: (c, r), True),
        (lambda r, c: (6 * r + c,), True),
        (lambda r, c: (r + 4 * c,), True),
        (lambda r, c: (5 * r + c,), False),
        (lambda r, c: (r + c,), False),
        (lambda r, c: (r, c // 2, c % 2), True),
        (lambda r, c: (r, c // 2), False),
        (lambda r, c: (r, 5 - c), True),
        (lambda r, c: (r, (c + r) % 6), True),
        (lambda r, c: (r, (2 * c) % 6), False),
        (lambda r, c: (0,), False),
    ],
)
def test_of_a_given_shape(index: Callable[..., Subscripts], expected: bool) -> None:
    elements = list(product(range(4), range(6)))
    assert (len({index(*element) for element in elements}) == len(elements)) == expected
    assert is_one_to_one(KNL, "a", _rule(index)) == expected


@pytest.mark.parametrize(
    ("name", "index", "expected"),
    [
        ("x", lambda i: (i + 1,), True),
        ("x", lambda i: (i % 8,), True),  # n <= 8
        ("x", lambda i: (i % 7,), False),
        ("x", lambda i: (ex.sum_of(ex.Variable("n"), ex.product_of(-1, i)),), True),
        ("y", lambda i, j: (j, i), True),
        ("y", lambda i, j: (i + 8 * j,), True),
        ("y", lambda i, j: (8 * i + j,), False),  # m may be more than 8
        ("z", lambda: (), True),  # one element
    ],
)
def test_of_a_shape_that_sizes_say(
    name: str, index: Callable[..., Subscripts], expected: bool
) -> None:
    assert is_one_to_one(KNL, name, _rule(index)) == expected


def test_subscripts_that_no_set_can_say() -> None:
    """Squares are different too, but that is not found: no is always permitted."""
    assert not is_one_to_one(KNL, "x", lambda index: (ex.product_of(index[0], index[0]),))
    by_data = ex.element(ex.Variable("x"), (ex.Variable("i"),))
    assert not is_one_to_one(KNL, "x", lambda index: (by_data,))
    product_of_sizes = ex.product_of(ex.Variable("m"), ex.Variable("n"))
    assert not is_one_to_one(KNL, "y", lambda index: (ex.sum_of(product_of_sizes, *index),))


def test_data_decides_which_elements_are_touched() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "a[idx[i]] = 1 {id=s}\nb[i] = 2 {id=t, if=idx[i] > 0}\nc[i*i] = 3 {id=u}",
        array("a", "n"),
        array("b", "n"),
        array("c", "n*n"),
        array("idx", "n", dtype="int32"),
    )
    assert is_beyond_proofs(knl, "a")
    assert not is_beyond_proofs(knl, "b")  # data decides whether it is touched: not where
    assert is_beyond_proofs(knl, "c")
    assert not is_beyond_proofs(knl, "idx")


def test_data_in_the_subscripts_of_a_rule() -> None:
    """What a substitution rule reads counts where the rule is used."""
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "r(k) := a[idx[k]]\nb[i] = r(i) {id=s}",
        array("a", "n"),
        array("b", "n"),
        array("idx", "n", dtype="int32"),
    )
    assert is_beyond_proofs(knl, "a")
    assert not is_beyond_proofs(knl, "b")
