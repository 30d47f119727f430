"""Polyhedra in a normal form: none of their points is lost, and none is new."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polygen.analysis.counting.polyhedra import problem_of, tidied
from polygen.analysis.integers.affine_forms import FloorTerm
from tests.analysis.counting.one_by_one import form, forms, polynomial, problem, total
from tests.analysis.flat import contains

SIZES = [{"n": n, "m": m} for n in (-1, 0, 1, 4, 7) for m in (0, 3)]
FEW = range(-1, 8)


# --- of isl's sets


@pytest.mark.parametrize(
    ("condition", "names", "lifted"),
    [
        ("0 <= i < n and j = i + 1", "ij", 0),
        ("0 <= i < n and 0 <= j < 3 and i mod 3 = 1", "ij", 1),
        ("0 <= i, j <= 5 and (i + 2j) mod 4 <= 1", "ij", 1),
        ("0 <= i < 4 and 0 <= j and j <= 2*floor(n/3)", "ij", 0),  # of parameters alone
        ("0 <= i, j < 6 and i mod 2 = 0 and j mod 3 = 0", "ij", 2),
        ("1 <= i <= 2 and j = n", "i", 0),
        ("0 <= i < n and i < 0 and j = 0", "ij", 0),
    ],
)
def test_as_many_points_as_the_set(condition: str, names: str, lifted: int) -> None:
    flat = isl.Set(f"[n, i, j] -> {{ : {condition} }}")
    pieces = flat.compute_divs().get_basic_sets() or [isl.BasicSet("{ : 1 = 0 }")]
    (piece,) = pieces
    found = problem_of(piece, frozenset(names))
    assert found.summand == polynomial("1")
    assert set(names) <= found.names
    forms = (*found.bounds, *found.zeros)
    inside = [t for f in forms for t in f.terms if isinstance(t, FloorTerm)]
    assert all(t.numerator.names().isdisjoint(names) for t in inside)
    assert len(found.names) <= len(names) + lifted
    for n in (-1, 0, 1, 4, 7):
        given = {"n": n, "j": n}
        there = [
            {**given, **dict(zip(names, at, strict=True))} for at in product(FEW, repeat=len(names))
        ]
        assert total(found, given) == sum(contains(flat, point) for point in there)


def test_a_form_in_the_place_of_a_name() -> None:
    before = problem("i j", "i; n - 1 - i; j - i//2", "j - 2*i", summand="i*j")
    found = before.substituted("j", form("2*i"))
    assert found.names == {"i"}
    assert found.bounds == forms("i; n - 1 - i; 2*i - i//2")
    assert found.zeros == forms("0")
    assert found.summand == polynomial("2*i*i")
    shifted = before.substituted("i", form("i + 1"), drops=False)
    assert shifted.names == {"i", "j"}
    for sizes in SIZES:
        bounded = problem("i j", "i; n - 1 - i; j; 5 - j", summand="i*j")
        moved = bounded.substituted("i", form("i + 1"), drops=False)
        assert total(moved, sizes) == total(bounded, sizes)
        assert total(found, sizes) == total(before, sizes, range(-3, 16))


# --- tidying up


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("i; n - i", "i; n - i"),
        ("i; i; i + 3; n - i; n + 1 - i", "i; n - i"),  # the strictest of parallel ones
        ("2*i - 3; 7 - 3*i", "i - 2; 2 - i"),  # the next integers
        ("i; j; i + j; 3 - i; 3 - j", "i; j; 3 - i; 3 - j"),  # follows from two
        ("i; 4; n - i", "i; n - i"),  # says nothing
        ("i - n//2; n - i; i - n//2 + 1", "i - n//2; n - i"),  # floors are names of their own
    ],
)
def test_needless_bounds_go(before: str, after: str) -> None:
    found = tidied(problem("i j", before))
    assert found is not None
    assert set(found.bounds) == set(forms(after))


@pytest.mark.parametrize(
    ("bounds", "zeros"),
    [
        ("-1", ""),
        ("i; -1 - i", ""),
        ("i - n; n - 1 - i", ""),
        ("2*i - 1; 1 - 2*i", ""),  # only a fraction is between
        ("i; j; -1 - i - j", ""),
        ("i", "2*i + 4*j - 1"),  # an odd number is no sum of even ones
        ("", "3"),
        ("i - 3; j", "i - 2"),
    ],
)
def test_no_points(bounds: str, zeros: str) -> None:
    assert tidied(problem("i j", bounds, zeros)) is None


def test_equations_stay_unless_they_say_nothing() -> None:
    before = problem("i j", "i; 9 - i", "0; i - 2*j; 3*j - 6", summand="i*j")
    found = tidied(before)
    assert found is not None
    assert found.zeros == forms("i - 2*j; 3*j - 6")
    assert total(found, {}) == total(before, {}) == 8


def test_nothing_is_said() -> None:
    found = tidied(problem("i", ""))
    assert found == problem("i", "")


@pytest.mark.parametrize(
    "bounds",
    [
        "i; n - i; j - i; n + 1 - 2*j",
        "3*i + 2*j; n - i; i - j + 1; j + n",
        "i; j; 2*n - 3*i - 4*j; m",
    ],
)
def test_points_stay(bounds: str) -> None:
    before = problem("i j", bounds, summand="i + 2*j + 1")
    found = tidied(before)
    assert found is not None
    for sizes in SIZES:
        assert total(found, sizes, range(-20, 25)) == total(before, sizes, range(-20, 25))
