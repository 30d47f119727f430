"""Linear forms: division by negative numbers; shifts and powers; what has no form."""

from __future__ import annotations

import pytest

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


def _value(form: LinearForm, n: int) -> int:
    total = form.constant
    for term, factor in form.terms.items():
        part = _value(term.numerator, n) // term.divisor if isinstance(term, FloorTerm) else n
        total += factor * part
    return total


@pytest.mark.parametrize("divisor", [-5, -2, -1, 1, 3])
@pytest.mark.parametrize("factor", [-3, 1, 4])
def test_division_rounds_down(divisor: int, factor: int) -> None:
    form = LinearForm.of_name("n") * factor + 1
    for n in range(-7, 8):
        assert _value(form // divisor, n) == (factor * n + 1) // divisor
        assert _value(form % divisor, n) == (factor * n + 1) % divisor


def test_division_by_minus_one_leaves_no_division() -> None:
    form = LinearForm.of_name("n") * 2 + 1
    assert form // -1 == -form
    assert form % -1 == LinearForm(0, {})


N = ex.Variable("n")


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (ex.Power(3, 0), 1),
        (ex.Power(-2, 3), -8),
        (ex.Power(2, 62), 2**62),
        (ex.LeftShift(3, 0), 3),
        (ex.LeftShift(1, 62), 2**62),
        (ex.RightShift(-5, 0), -5),
        (ex.RightShift(2**62, 62), 1),
    ],
)
def test_shifts_and_powers_of_numbers(expr: Expression, value: int) -> None:
    assert linear_form(expr) == LinearForm(value)


@pytest.mark.parametrize(
    "expr",
    [
        ex.Power(2, -1),
        ex.Power(2, 63),
        ex.Power(N, 2),
        ex.Power(2, N),
        ex.LeftShift(N, -1),
        ex.LeftShift(N, 63),
        ex.LeftShift(1, N),
        ex.RightShift(N, -1),
        ex.RightShift(N, 63),
        ex.FloorDiv(N, 0),
        ex.Remainder(N, 0),
        ex.FloorDiv(N, N),
        ex.Product((N, N)),
        ex.FloorDiv(N, ex.Subscript(ex.Variable("a"), (N,))),
        ex.Remainder(N, ex.Subscript(ex.Variable("a"), (N,))),
    ],
)
def test_what_is_not_affine(expr: Expression) -> None:
    assert linear_form(expr) is None
    assert linear_form(ex.sum_of(N, expr)) is None


@pytest.mark.parametrize("factor", [-3, -1, 1, 2])
def test_what_is_left_of_a_division_is_shown_as_a_remainder(factor: int) -> None:
    left = LinearForm.of_name("n") % 4
    expr = (LinearForm.of_name("m") + left * factor).expression()
    assert any(isinstance(node, ex.Remainder) for node in walk.subexpressions(expr))
    assert not any(isinstance(node, ex.FloorDiv) for node in walk.subexpressions(expr))
    assert linear_form(expr) == LinearForm.of_name("m") + left * factor
