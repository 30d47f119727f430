"""Sums of quotients and remainders that are what was divided."""

from __future__ import annotations

from itertools import product

import pytest

from polygen.analysis.integers.recombined_numbers import recombined
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.oracle.evaluate import integer


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("m*(i//m) + i % m", "i"),
        ("i % m + (i//m)*m + 3", "i + 3"),
        ("2*m*((4*i + j)//m) + 2*((4*i + j) % m)", "8*i + 2*j"),
        ("p*(i//p) + i % p - m", "i - m"),
        ("(i//p//m*m + i//p % m)*p + i % p", "i"),
        ("(m + 1)*(i//(m + 1)) + i % (m + 1)", "i"),
        ("m*(i//n) + i % n", None),
        ("m*(i//m) + j % m", None),
        ("m*(i//m) + 2*(i % m)", None),
        ("8*(i//8) + i % 8", "i"),
        ("8*(i//n//8) + i//n % 8", "i//n"),
        ("8*(i//8) + i % 4", None),
    ],
)
def test_sums_that_are_what_was_divided(text: str, whole: str | None) -> None:
    node = parse_expression(text)
    found = recombined(node)
    assert show_expression(found) == show_expression(parse_expression(whole or text))
    for values in product((0, 5, 11), (0, 3), (1, 2, 4), (3, 5), (2, 7)):
        point = dict(zip("ijmnp", values, strict=True))
        assert integer(found, point) == integer(node, point)
    assert walk.free_variables(found) <= walk.free_variables(node)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a[8*(i//8) + i % 8, j]", "a[i, j]"),  # inside of a subscript
        ("max(m*(i//m) + i % m, j)*2", "max(i, j)*2"),
        ("m*((8*(i//8) + i % 8)//m) + i % m", "i"),  # one within another
        ("n*m*(i//m) + n*(i % m)", "i*n"),
        ("m*(i//m) + i % m + p*(j//p) + j % p", "i + j"),
        ("-8*(i//8) - i % 8 + i", "0"),
        ("8*(n*m//8) + n*m % 8 - n*m", "0"),
        ("8*(i//8) - i % 8", None),
        ("m*(i//(m + 1)) + i % (m + 1)", None),  # the divisor has two terms
        ("(m + 2)*(i//(m + 1)) + i % (m + 1)", None),
        ("4*(i//8) + i % 8", None),
        ("i//8 + j % 8", None),
        ("i % 8", None),
        ("i//8", None),
        ("i", None),
        ("7", None),
    ],
)
def test_wherever_such_a_sum_is(text: str, whole: str | None) -> None:
    node = parse_expression(text)
    found = recombined(node)
    assert show_expression(found) == show_expression(parse_expression(whole or text))
    if whole is None:
        assert found is node


@pytest.mark.parametrize("divisor", [0, -3, ex.Sum((3, -5)), ex.Product((2, 4))])
def test_only_sizes_and_positive_numbers_divide(divisor: int | ex.ExpressionNode) -> None:
    """What is not folded yet counts as a number of which nothing is known."""
    i = ex.Variable("i")
    quotient = ex.Product((divisor, ex.FloorDiv(i, divisor)))
    node = ex.Sum((quotient, ex.Remainder(i, divisor)))
    assert recombined(node) is node
