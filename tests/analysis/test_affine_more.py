"""Linear forms: division by negative numbers."""

from __future__ import annotations

import pytest

from polygen.analysis.affine import FloorTerm, LinearForm


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
