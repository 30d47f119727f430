"""The constraints of flat sets as linear forms, beside isl's own."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term
from polygen.analysis.integers.constraint_forms import ConstraintForm, constraint_forms
from polygen.analysis.integers.isl_affine import form_of_aff
from tests.analysis.flat import contains

PIECES = [
    "[n, i] -> { : 0 <= i < n }",
    "[n, i] -> { : 0 <= i < n and n = 4 }",
    "[n, i, j] -> { : 2i + 3j >= n - 5 and i = 2j and j <= 7 }",
    "[i, n] -> { : }",
    "{ : }",
    "[i] -> { : 1 = 0 }",
    "[i] -> { : i = 3 }",
    "[n, i] -> { : i mod 3 = 1 and 0 <= i < n }",
    "[n, i] -> { : 2*floor(i/4) <= n and i >= 0 }",
    "[i, j] -> { : (i + 2j) mod 5 <= 2 and j >= i }",
]


def _piece(text: str) -> isl.BasicSet:
    (piece,) = isl.Set(text).get_basic_sets()
    return piece


@pytest.mark.parametrize("text", PIECES[:5] + PIECES[6:])
def test_forms_hold_where_the_set_does(text: str) -> None:
    piece = _piece(text)
    forms = constraint_forms(piece)
    for values in product(range(-3, 9), repeat=2):
        for third in (-4, 0, 2):
            point = dict(zip("inj", (*values, third), strict=True))
            found = [c.form.evaluate(point) for c in forms]
            holds = all(
                value == 0 if c.is_equality else value >= 0
                for c, value in zip(forms, found, strict=True)
            )
            assert holds == contains(piece.to_set(), point)


@pytest.mark.parametrize("text", PIECES)
def test_they_are_isl_s_in_its_order(text: str) -> None:
    piece = _piece(text) if "1 = 0" not in text else isl.BasicSet(text)
    expected = [
        (form_of_aff(c.get_aff()), bool(c.is_equality()), at)
        for at, c in enumerate(piece.get_constraints())
    ]
    assert [tuple(c) for c in constraint_forms(piece)] == expected


@pytest.mark.parametrize("text", PIECES)
@pytest.mark.parametrize("about", ["i", "n", "unknown"])
def test_only_those_about_a_name(text: str, about: str) -> None:
    piece = isl.BasicSet(text)
    every = constraint_forms(piece)
    assert constraint_forms(piece, about) == [c for c in every if about in c.form.names()]


def test_floors_are_terms() -> None:
    piece = _piece("[i, j] -> { : (i + 2j) mod 5 <= 2 }")
    forms = constraint_forms(piece, "j")
    assert any(isinstance(term, FloorTerm) for c in forms for term in c.form.terms)
    assert not any(c.is_equality for c in forms)
    for i, j in product(range(-9, 9), repeat=2):
        holds = all(c.form.evaluate({"i": i, "j": j}) >= 0 for c in forms)
        assert holds == ((i + 2 * j) % 5 <= 2)


@pytest.mark.parametrize("number", [2**31, 2**62 + 1, 2**63, 2**64, 3 * 2**64 + 5, 10**40])
def test_numbers_of_any_length(number: int) -> None:
    for sign in (1, -1):
        piece = _piece(f"[i, n] -> {{ : i + {sign * number}*n >= {-sign * number - 1} }}")
        terms: dict[Term, int] = {"i": 1, "n": sign * number}
        assert constraint_forms(piece) == [
            ConstraintForm(LinearForm(sign * number + 1, terms), is_equality=False, position=0)
        ]
