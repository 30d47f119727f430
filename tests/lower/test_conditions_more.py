"""Conditions as one would write them."""

from __future__ import annotations

import pytest

from polygen.analysis.affine import LinearForm
from polygen.ir.show_expression import show_expression
from polygen.lower.conditions import comparison

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
    ],
)
def test_comparison(form: LinearForm, operator: str, text: str) -> None:
    assert show_expression(comparison(form, operator)) == text
