"""Conditions as one would write them."""

from __future__ import annotations

import operator as op
from itertools import product

import pytest

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir.show_expression import show_expression
from polygen.lower.conditions import comparison
from tests.oracle.cases import SIZES, agree, guards, kernel, lowered

COMPARE = {"==": op.eq, ">=": op.ge, "<=": op.le, "<": op.lt}

ROW, N = LinearForm.of_name("i"), LinearForm.of_name("n")


@pytest.mark.parametrize(
    ("form", "operator", "text"),
    [
        (ROW - N + 3, "==", "i == n - 3"),
        (ROW * -1 - N + 3, "==", "i + n == 3"),
        (ROW + N - 3, "==", "i + n == 3"),
        (N - ROW - 1, ">=", "i < n"),
        (N - ROW, ">=", "i <= n"),
        (ROW - 2, ">=", "i >= 2"),
        (ROW * -1 + 5, ">=", "i <= 5"),
        (ROW - ROW // 3 * 3, "==", "i % 3 == 0"),
        (ROW // 3 * 3 - ROW, "==", "i % 3 == 0"),
        ((ROW + 4) // 5 * 5 - ROW - 4, "==", "i % 5 == 1"),
        (ROW * 2 - ROW // 3 * 6 - 4, "==", "i % 3 == 2"),
        ((ROW * -1 - N) % 4, "==", "(i + n) % 4 == 0"),
        ((ROW * -1 - N + 1) % 4, "==", "(i + n) % 4 == 1"),
        (ROW // 3 * 3 - N, "==", "3*(i//3) == n"),
        (ROW % 3 - 7, "==", "i == 3*(i//3) + 7"),
    ],
)
def test_comparison(form: LinearForm, operator: str, text: str) -> None:
    found = comparison(form, operator)
    assert show_expression(found) == text
    assert isinstance(found, ex.Comparison)
    left, right = linear_form(found.left), linear_form(found.right)
    assert left is not None
    assert right is not None
    for i, n in product(range(-9, 10), range(-5, 6)):
        values = {"i": i, "n": n}
        value = form.evaluate(values)
        says = value == 0 if operator == "==" else value >= 0
        assert COMPARE[found.operator](left.evaluate(values), right.evaluate(values)) == says


def test_what_is_always_so_of_remainders_is_not_asked() -> None:
    """isl says of i % 3 that it is from 0 to 2."""
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<n and (i+j) mod 3 = 0 }", "out[i] = sum(j, a[j])")
    program = lowered(knl)
    conditions = {show_expression(guard.condition) for guard in guards(program)}
    assert len(conditions) == 1
    agree(knl, SIZES)
