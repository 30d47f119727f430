"""Linear programs against enumeration: where forms are negative."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import islpy as isl
import pytest

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term
from polygen.analysis.integers.isl_affine import aff_on, is_negative_somewhere

SIDE = range(-4, 5)
BOX = "-4 <= i <= 4 and -4 <= n <= 4"
SETS: dict[str, Callable[[int, int], bool]] = {
    "i < n": lambda i, n: i < n,
    "2*i >= 1 and i <= n": lambda i, n: 2 * i >= 1 and i <= n,
    "i = 2*n or i > n": lambda i, n: i == 2 * n or i > n,
    "i mod 3 = 1 and n > 0": lambda i, n: i % 3 == 1 and n > 0,
    "i > n and i < n": lambda _i, _n: False,
}
FORMS = ((0, 1, 0), (-1, 1, 0), (3, 0, -1), (0, -2, 1), (5, 1, 1), (-1, 0, 0), (0, 0, 0), (8, 1, 1))


@pytest.mark.parametrize("condition", SETS)
@pytest.mark.parametrize("form", FORMS)
def test_negative_somewhere(condition: str, form: tuple[int, int, int]) -> None:
    flat = isl.Set(f"[i, n] -> {{ : ({condition}) and {BOX} }}")
    constant, of_i, of_n = form
    terms: dict[Term, int] = {name: c for name, c in (("i", of_i), ("n", of_n)) if c}
    wanted = any(
        constant + of_i * i + of_n * n < 0 for i, n in product(SIDE, SIDE) if SETS[condition](i, n)
    )
    assert is_negative_somewhere(flat, LinearForm(constant, terms)) is wanted


def test_without_bounds_all_values_are_taken() -> None:
    flat = isl.Set("[i] -> { : i >= 3 }")
    assert not is_negative_somewhere(flat, LinearForm(-3, {"i": 1}))
    assert is_negative_somewhere(flat, LinearForm(100, {"i": -1}))
    assert is_negative_somewhere(flat, LinearForm(0, {"other": 1}))
    assert not is_negative_somewhere(isl.Set("{ : 1 = 0 }"), LinearForm(0, {"other": 1}))


def test_forms_that_are_no_function_of_a_space() -> None:
    space = isl.Set("[i] -> { [] : }").get_space()
    half = FloorTerm(LinearForm.of_name("i"), 2)
    assert aff_on(space, LinearForm(0, {half: 1})) is None
    assert aff_on(space, LinearForm.of_name("n")) is None
    found = aff_on(space, LinearForm(4, {"i": 3}))
    assert found is not None
    assert found.plain_is_equal(isl.Aff("[i] -> { [] -> [4 + 3i] }"))
