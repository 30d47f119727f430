"""Piecewise functions: products, choices, quotients; ends of sets."""

from __future__ import annotations

from itertools import product
from typing import Any

import islpy as isl
import pytest

from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import (
    condition_set,
    is_negative_somewhere,
    pw_aff_expression,
    to_pw_aff,
)
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression
from tests.analysis.flat import points
from tests.analysis.python_values import python_value

RANGE = range(-5, 6)


def _value(expr: Expression, **values: int) -> int | None:
    function = to_pw_aff(expr)
    assert function is not None
    at = isl.Set(
        f"[{', '.join(values)}] -> {{ : {' and '.join(f'{n}={v}' for n, v in values.items())} }}"
    )
    here = function.intersect_params(at)
    if here.domain().is_empty():
        return None
    assert here.max_val().eq(here.min_val())
    return int(here.max_val().to_python())


def _if(condition: bool, then: int, otherwise: int) -> int:
    return then if condition else otherwise


@pytest.mark.parametrize(
    "text",
    [
        "2*max(i, j)",
        "max(i, j)*3",
        "(-2)*max(i, j)*2",
        "0*max(i, j)",
        "max(i, j) + min(i, 2) - j",
        "max(i, j)//3",
        "max(i, j)%3",
        "min(2*i + 1, j)//2",
        "min(2*i + 1, j)%4 + i//2",
        "if(i < j, i, 2*j)",
        "if(i < j and j > 0, i//2, 3)",
        "if(i < j or i == 3, 1, max(i, j))",
        "if(not (i < j), 1, 0)",
        "if(i != j, if(i > 0, i, j), 7)",
        "max(i, j, 1, 2*i)",
        "min(i, j, 1, 2*i)",
    ],
)
def test_piecewise_functions(text: str) -> None:
    expr = parse_expression(text)
    python = text.replace("if(", "_if(")
    for i, j in product(RANGE, repeat=2):
        names: dict[str, Any] = {"i": i, "j": j, "_if": _if, "max": max, "min": min}
        assert _value(expr, i=i, j=j) == int(python_value(python, names))


@pytest.mark.parametrize(
    "text",
    [
        "i*max(i, j)",
        "max(i, j)*i",
        "2*i*max(i, j)",
        "max(i, j)*max(i, j)",
        "max(i, j)//i",
        "max(i, j)//0",
        "max(i, j)%0",
        "max(i, a[j])",
        "a[j] + max(i, j)",
        "2*a[max(i, j)]",
        "a[i]//2",
        "if(a[i] > 0, max(i, j), 2)",
        "if(i > 0, a[i], 2)",
        "if(i > 0, 2, a[i])",
        "sin(i)",
    ],
)
def test_what_is_no_affine_function(text: str) -> None:
    assert to_pw_aff(parse_expression(text)) is None


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str) -> None:
    found = condition_set(parse_expression(f"2*i {operator} j + 1"))
    assert found is not None
    wanted = {
        (i, j)
        for i, j in product(RANGE, repeat=2)
        if python_value(f"2*i {operator} j + 1", {"i": i, "j": j})
    }
    assert points(found, ["i", "j"], RANGE) == wanted


def test_conditions_with_a_part_that_is_data() -> None:
    for text in ("i < 3 and a[i] > 0", "i < 3 or a[i] > 0", "not (a[i] > 0)", "a[i] > 0 and i < 3"):
        assert condition_set(parse_expression(text)) is None
    assert condition_set(ex.Comparison(ex.Variable("i"), "<", 3), {"j"}) is None


@pytest.mark.parametrize(
    ("form", "negative"),
    [
        (LinearForm(0, {"i": 1}), False),
        (LinearForm(-1, {"i": 1}), True),
        (LinearForm(-1, {"n": 1}), False),  # n is 1 at least where there is an i
        (LinearForm(-2, {"n": 1}), True),
        (LinearForm(-1, {"n": 1, "i": -1}), False),
        (LinearForm(-2, {"n": 1, "i": -1}), True),
        (LinearForm(0), False),
        (LinearForm(3), False),
        (LinearForm(-1), True),
        (LinearForm(0, {"elsewhere": 1}), True),  # nothing is known of it
    ],
)
def test_what_is_negative_somewhere(form: LinearForm, negative: bool) -> None:
    inside = isl.Set("[i, n] -> { : 0 <= i < n }")
    assert is_negative_somewhere(inside, form) == negative
    # Nowhere, nothing is negative.
    assert not is_negative_somewhere(isl.Set("[i, n] -> { : i < n and n < i }"), form)


def test_the_greatest_of_as_few_as_will_do() -> None:
    """Where j is even, the last form is i, and the others are not needed."""
    function = isl.PwAff(
        "[i, j] -> { [(i)] : i >= 10 and j mod 2 = 0; [(0)] : i <= -10 and j mod 2 = 0;"
        " [(i + j mod 2)] : 0 < i < 10 and j mod 2 = 0 }"
    )
    found = pw_aff_expression(function)
    assert isinstance(found, ex.Max)
    assert len(found.children) == 2
    for i, j in product((-12, -10, 1, 9, 10, 12), (-2, 0, 4)):
        assert _value(found, i=i, j=j) == max(i, 0)
