"""Quasi-polynomials, beside the values of what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import islpy as isl
import pytest

from polygen.analysis.counting.quasi_polynomials import (
    QuasiPolynomial,
    form_text,
    names_of,
    period,
    substituted_form,
    sum_over,
)
from polygen.analysis.integers.affine_forms import LinearForm
from tests.analysis.counting.one_by_one import form, polynomial, value_of

SOME: dict[str, Callable[..., int]] = {
    "0": lambda n, m: 0,
    "7": lambda n, m: 7,
    "n*n - 2*m + 1": lambda n, m: n * n - 2 * m + 1,
    "3*n*(n//4)*m": lambda n, m: 3 * n * (n // 4) * m,
    "((n + m)//3)*((n + m)//3) - n//2": lambda n, m: ((n + m) // 3) ** 2 - n // 2,
    "(n//2 + m)//3 + n": lambda n, m: (n // 2 + m) // 3 + n,
}
POINTS = [{"n": n, "m": m} for n, m in product((-5, -2, -1, 0, 1, 2, 3, 4, 7), (-3, 0, 4))]


@pytest.mark.parametrize("first", SOME)
@pytest.mark.parametrize("second", SOME)
def test_arithmetic(first: str, second: str) -> None:
    a, b = polynomial(first), polynomial(second)
    for at in POINTS[::3]:
        x, y = SOME[first](**at), SOME[second](**at)
        assert value_of(a, at) == x
        assert value_of(a + b, at) == x + y
        assert value_of(a - b, at) == x - y
        assert value_of(a * b, at) == x * y
        assert value_of(a * Fraction(1, 3), at) == Fraction(x, 3)
        assert value_of(a**3, at) == x**3


def test_equal_sums_are_equal() -> None:
    assert polynomial("n*m + m") == polynomial("m*(1 + n)")
    assert hash(polynomial("n*m + m")) == hash(polynomial("m*(1 + n)"))
    assert polynomial("n - n") == QuasiPolynomial({}) == QuasiPolynomial.constant(0)
    assert polynomial("n") != polynomial("m")
    assert polynomial("n") != "n"
    assert polynomial("n") ** 0 == QuasiPolynomial.constant(1)


def test_what_is_mentioned() -> None:
    found = polynomial("n*((m + 1)//2) + 3")
    assert found.factors() == {"n", *form("(m + 1)//2").terms}
    assert found.names() == {"n", "m"}
    assert frozenset().union(*map(names_of, form("i + (j + k//2)//3").terms)) == set("ijk")
    assert not found.is_constant
    assert polynomial("3 + n - n").is_constant
    assert QuasiPolynomial({}).is_constant


@pytest.mark.parametrize("text", SOME)
@pytest.mark.parametrize("value", ["m", "2*n + 1", "4", "(n - m)//2"])
def test_a_form_in_the_place_of_a_name(text: str, value: str) -> None:
    found = polynomial(text).substituted("n", form(value))
    for at in POINTS:
        inner = form(value).evaluate(at)
        assert value_of(found, at) == SOME[text](inner, at["m"])
    assert found.names() <= form(value).names() | polynomial(text).names() - {"n"}


def test_a_form_in_the_place_of_a_name_in_a_form() -> None:
    before = form("i + (j + i//2)//3")
    found = substituted_form(before, "i", form("5*k - 1"))
    for j, k in product(range(-4, 4), repeat=2):
        assert found.evaluate({"j": j, "k": k}) == before.evaluate({"i": 5 * k - 1, "j": j})
    assert substituted_form(before, "x", form("5*k - 1")) is before


def test_floors_are_replaced_whole() -> None:
    floor, *_ = form("n//4").terms
    found = polynomial("n*(n//4)*(n//4)").replaced({floor: polynomial("m*m - 1")})
    assert found == polynomial("n*(m*m - 1)*(m*m - 1)")
    assert found.replaced({}) is found


def test_coefficients_of_powers() -> None:
    found = polynomial("n*n*n*m - 2*n*n + n*n*(m//2) + m + 5").powers_of("n")
    assert found == {
        3: polynomial("m"),
        2: polynomial("m//2 - 2"),
        0: polynomial("m + 5"),
    }
    assert polynomial("m").powers_of("n") == {0: polynomial("m")}
    assert QuasiPolynomial({}).powers_of("n") == {}


# --- sums


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("n*n + 3", 1),
        ("m//4 + n", 1),
        ("n//4", 4),
        ("(6*n + m)//4", 2),
        ("n//4 + n//6", 12),
        ("n*((m + n//2)//3)", 2),  # the inner one first
        ("(3*m + 5*n)//7", 7),
    ],
)
def test_periods(text: str, after: int) -> None:
    found = polynomial(text)
    assert period(found, "n") == after
    # Then there are fewer floors with the name, each of them affine in the new one.
    again = found
    for _ in range(3):
        step = period(again, "n")
        again = again.substituted("n", LinearForm(1, {"n": step}))
    assert period(again, "n") == 1


@pytest.mark.parametrize("power", range(7))
def test_sums_of_powers(power: int) -> None:
    x = QuasiPolynomial.of_form(LinearForm.of_name("x"))
    for first, last in ((1, 10), (-3, 4), (0, -1), (5, 5)):
        found = sum_over(x**power, "x", LinearForm(first), LinearForm(last))
        assert found == QuasiPolynomial.constant(sum(v**power for v in range(first, last + 1)))


@pytest.mark.parametrize("text", ["1", "x*x - x*m + 2", "x*(m//2) + n", "0"])
@pytest.mark.parametrize(("first", "last"), [("0", "n - 1"), ("m", "n//2"), ("n", "n + 2*m")])
def test_sums_between_forms(text: str, first: str, last: str) -> None:
    summand = polynomial(text)
    found = sum_over(summand, "x", form(first), form(last))
    assert "x" not in found.names()
    asked = 0
    for at in POINTS:
        low, high = form(first).evaluate(at), form(last).evaluate(at)
        if high >= low - 1:
            asked += 1
            expected = sum(value_of(summand, {**at, "x": x}) for x in range(low, high + 1))
            assert value_of(found, at) == expected
    assert asked > 5


# --- isl's notation


@pytest.mark.parametrize("text", SOME)
def test_isl_reads_the_text(text: str) -> None:
    shown = (polynomial(text) * Fraction(2, 3)).text()
    read = isl.PwQPolynomial(f"[n, m] -> {{ {shown} }}")
    for at in POINTS:
        assert read.scale_val(isl.Val(3)).eval_with_dict(at) == 2 * SOME[text](**at)


@pytest.mark.parametrize("text", ["0", "3 - n", "2*n + (m - 5)//4", "(n//2 + m)//3 - 1"])
def test_isl_reads_the_text_of_a_form(text: str) -> None:
    read = isl.PwQPolynomial(f"[n, m] -> {{ {form_text(form(text))} }}")
    for at in POINTS:
        assert read.eval_with_dict(at) == form(text).evaluate(at)
