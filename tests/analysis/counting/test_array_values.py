"""Conditions at many points at once, beside Python one by one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from pymbolic.mapper.evaluator import evaluate

from polygen.analysis.counting.array_values import selected, where_true
from polygen.language.parser import parse_expression

PLANE = [*product(range(-4, 5), range(-3, 6))]


def _columns(points: list[tuple[int, int]]) -> dict[str, Any]:
    i, j = np.array(points, np.int64).reshape(-1, 2).T
    return {"i": i, "j": j}


CONDITIONS = [
    "i < j",
    "i <= j and not (i == 2)",
    "i*j % 3 == 1",
    "i // 2 - j // -3 > 1",
    "i % -4 != j",
    "j == 3",
    "max(i, j, 1) >= min(2*i, j) + 2",
    "i*i - 2*i*j > 3 or i >= j or j == 5",
    "if(i > j, i - j, 3*j) == 3",
    "i**2 == j",  # no rule: point by point
    "i**2 == j and j > 1",
    "(i & 3) > j",
    "0 < 1",
    "1 < 0",
]


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("points", [PLANE, PLANE[:1], []])
def test_where_conditions_hold(text: str, points: list[tuple[int, int]]) -> None:
    condition = parse_expression(text)
    found = where_true(condition, _columns(points))
    assert found.dtype == bool
    assert found.tolist() == [bool(evaluate(condition, {"i": i, "j": j})) for i, j in points]


@pytest.mark.parametrize(
    "text",
    [
        "j != 0 and i % j == 0",
        "j == 0 or i // j > 1",
        "not (j == 0) and if(i > 0, i % j, i // j) == 1",
    ],
)
def test_what_is_decided_before_is_not_divided_by(text: str) -> None:
    condition = parse_expression(text)
    found = where_true(condition, _columns(PLANE))
    assert found.tolist() == [bool(evaluate(condition, {"i": i, "j": j})) for i, j in PLANE]


@pytest.mark.parametrize("text", ["i % j == 0", "i // j == 0", "i % j == 0 and j != 0"])
def test_division_by_zero_is_an_error(text: str) -> None:
    with pytest.raises(ZeroDivisionError):
        where_true(parse_expression(text), _columns(PLANE))
    assert where_true(
        parse_expression(
            "if(j == 0, i, i // j) == 1",
        ),
        _columns(PLANE),
    ).any()


def test_values_past_64_bits() -> None:
    big = np.array([2**31, 3 * 2**30, 7])
    found = where_true(parse_expression("i*i*i > 9223372036854775807"), {"i": big})
    assert found.tolist() == [True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "i*i*i < 0",
        "4*i*i - 4*i*i == 0",  # only the parts are that large
        "i + i + i + i + i > 0",
        "(i*i*i) % 1000 == 1",
        "max(i*i*i, 0) > 5",
        "0 < i and i*j*i > 0",
        "i**3 > 0",
        "if(j > 0, i**3, 7) > 5",
    ],
)
def test_large_values_are_exact(text: str) -> None:
    condition = parse_expression(text)
    points = [*product((2**62 - 1, -(2**61), 3_000_000_001, 0), (2**40 + 1, -1))]
    found = where_true(condition, _columns(points))
    assert found.tolist() == [bool(evaluate(condition, {"i": i, "j": j})) for i, j in points]


def test_some_of_the_points() -> None:
    columns = _columns([(1, 2), (3, 4), (5, 6)])
    some = selected(columns, np.array([True, False, True]))
    assert {name: column.tolist() for name, column in some.items()} == {"i": [1, 5], "j": [2, 6]}
    others = selected(columns, np.array([2, 0, 0]))
    assert {name: c.tolist() for name, c in others.items()} == {"i": [5, 1, 1], "j": [6, 2, 2]}
    nothing = selected(columns, np.zeros(3, bool))
    assert all(len(column) == 0 for column in nothing.values())
