"""Subscripts that count from the end of an axis where they are negative."""

from __future__ import annotations

import pytest

from polygen.analysis.integers.wrapped_subscripts import unwrapped, wrapped
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.oracle.evaluate import integer

SUBSCRIPTS = ("i", "p[i]", "p[i] - 1", "if(i < 2, p[i], 3)", "-2")


@pytest.mark.parametrize("text", SUBSCRIPTS)
def test_the_subscript_is_found_again(text: str) -> None:
    subscript, extent = parse_expression(text), parse_expression("n + 1")
    place = wrapped(subscript, extent)
    assert unwrapped(place, extent) == subscript
    assert unwrapped(place, parse_expression("n")) is None
    assert unwrapped(wrapped(place, extent), extent) == place


@pytest.mark.parametrize("text", ["i", "if(i < 0, i, i + n)", "if(i <= 0, i + n, i)", "i % n"])
def test_other_expressions_are_no_such_places(text: str) -> None:
    assert unwrapped(parse_expression(text), parse_expression("n")) is None


def test_places_are_those_of_a_list() -> None:
    elements = list(range(5))
    place = wrapped(parse_expression("i - 1"), parse_expression("n"))
    assert show_expression(place) == "if(i - 1 < 0, (i - 1) + n, i - 1)"
    for i in range(-4, 6):
        assert integer(place, {"i": i, "n": 5}) == elements[i - 1]
