"""The normal form of affine expressions, against Python's arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymbolic import parse
from pymbolic.mapper.evaluator import evaluate

from polygen.analysis.integers.affine_forms import LinearForm, combine, linear_form
from polygen.ir import expression as ex
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression

NAMES = ("i", "j", "n")
CONSTANTS = st.integers(-9, 9)
DIVISORS = CONSTANTS.filter(lambda c: c != 0)
VALUES = st.fixed_dictionaries({name: st.integers(-40, 40) for name in NAMES})


def _grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(inner, inner).map(ex.Sum),
        st.tuples(inner, inner).map(lambda p: ex.Sum((p[0], ex.Product((-1, p[1]))))),
        st.tuples(CONSTANTS, inner).map(ex.Product),
        st.tuples(inner, DIVISORS).map(lambda p: ex.FloorDiv(*p)),
        st.tuples(inner, DIVISORS).map(lambda p: ex.Remainder(*p)),
        st.tuples(inner, st.integers(0, 3)).map(lambda p: ex.LeftShift(*p)),
        st.tuples(inner, st.integers(0, 3)).map(lambda p: ex.RightShift(*p)),
    )


AFFINE = st.recursive(
    st.one_of(CONSTANTS, st.sampled_from([ex.Variable(name) for name in NAMES])),
    _grow,
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(AFFINE, VALUES)
def test_the_form_has_the_values_of_the_expression(expr: Any, values: dict[str, int]) -> None:
    form = linear_form(expr)
    assert form is not None
    assert form.evaluate(values) == evaluate(expr, values)


@settings(max_examples=400, deadline=None)
@given(AFFINE, VALUES)
def test_the_expression_of_a_form_has_its_values(expr: Any, values: dict[str, int]) -> None:
    form = linear_form(expr)
    assert form is not None
    again = form.expression()
    assert evaluate(again, values) == evaluate(expr, values)
    assert linear_form(again) is not None


@settings(max_examples=200, deadline=None)
@given(AFFINE, AFFINE, st.integers(-5, 5), DIVISORS, VALUES)
def test_arithmetic(
    left: Any, right: Any, factor: int, divisor: int, values: dict[str, int]
) -> None:
    a, b = linear_form(left), linear_form(right)
    assert a is not None
    assert b is not None
    x, y = a.evaluate(values), b.evaluate(values)
    assert (a + b).evaluate(values) == x + y
    assert (a - b).evaluate(values) == x - y
    assert (a - 3).evaluate(values) == x - 3
    assert (-a).evaluate(values) == -x
    assert (a * factor).evaluate(values) == x * factor
    assert (a // divisor).evaluate(values) == x // divisor
    assert (a % divisor).evaluate(values) == x % divisor
    assert combine([(a, 2), (b, factor)]).evaluate(values) == 2 * x + factor * y
    assert (a - a) == LinearForm()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n - i - 1", "n - 1 - i"),
        ("ii + io*16", "16*io + ii"),
        ("n + 1 + 1", "n + 2"),
        ("n*2", "2*n"),
        ("i - i", "0"),
        ("0*i + 7", "7"),
        ("-i", "-i"),
        ("-3 - i", "-i - 3"),
        ("3 - i", "3 - i"),
        ("n - 16*io - ii", "n - 16*io - ii"),
        ("(n - 1)//16 + 1", "(n + 15)//16"),
        ("i % 4", "i % 4"),
        ("i - i//4*4", "i % 4"),
        ("2*i - 8*(i//4) + 1", "2*(i % 4) + 1"),
        ("i//4//4", "i//16"),
        ("(i//4 + 1)//4", "(i + 4)//16"),
        ("(6*i + 3)//3", "2*i + 1"),
        ("(2*i + 1)//2", "i"),
        ("(4*i + 2*j)//6", "(2*i + j)//3"),
        ("(5*i)//4", "i + i//4"),
        ("i << 2", "4*i"),
        ("2**3*i", "8*i"),
    ],
)
def test_forms_read_well(text: str, shown: str) -> None:
    form = linear_form(parse(text))
    assert form is not None
    assert show_expression(form.expression()) == shown


@pytest.mark.parametrize(
    "text", ["i*j", "i*i", "i/2", "i//j", "i % n", "a[i]", "f(i)", "1.5*i", "i//0", "i % 0", "2**i"]
)
def test_what_is_not_affine(text: str) -> None:
    assert linear_form(parse(text)) is None


def test_extrema_of_constants_are_constants() -> None:
    form = linear_form(parse_expression("min(2, 3)*max(4, 5, 1)*i"))
    assert form is not None
    assert show_expression(form.expression()) == "10*i"
    assert linear_form(parse_expression("min(i, 3)")) is None
    assert linear_form(parse_expression("max(1.5, 3)")) is None


def test_truth_values_are_no_numbers() -> None:
    assert linear_form(True) is None


def test_only_known_names_are_affine() -> None:
    expr = parse("i + col")
    assert linear_form(expr, {"i"}) is None
    assert linear_form(expr, {"i", "col"}) is not None


def test_equal_forms_are_equal_however_they_came_about() -> None:
    one = linear_form(parse("2*i + j - (i + 3)//4"))
    other = linear_form(parse("j - (3 + i)//4 + i + i"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != linear_form(parse("2*i + j"))


def test_order_of_terms_does_not_depend_on_the_way() -> None:
    texts = ["j + 16*i + k//4 + n%3", "n%3 + k//4 + j + 16*i", "16*i + k//4 + j + n%3"]
    shown = set()
    for text in texts:
        form = linear_form(parse(text))
        assert form is not None
        shown.add(show_expression(form.expression()))
    assert len(shown) == 1


def test_names_inside_floors_count() -> None:
    form = linear_form(parse("i + (j + n)//3"))
    assert form is not None
    assert form.names() == {"i", "j", "n"}
