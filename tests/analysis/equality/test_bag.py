"""Pieces of bags, and where in a bag a value stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import add, mul
from typing import Any

import islpy as isl
import pytest

from polygen.analysis.equality.bag import (
    AGAIN,
    EXACT,
    PRODUCT,
    SUM,
    Factor,
    Level,
    Piece,
    Place,
    is_whole,
)
from tests.analysis.equality.small_kernels import LINE, ordered, value
from tests.analysis.flat import points, where

KNL = ordered(LINE, "<> t = b[i] {id=t}\nout[i] = a[i]*t {id=s}")
FOUR = isl.Set("[__i] -> { : 0 <= __i < 4 }")
A, T = (value(KNL, "s", text, i="__i") for text in ("a[i]", "t"))
PLACE = Place(FOUR, frozenset({"__i"}), Fraction(2), (Factor(A),))


def test_the_only_piece_of_a_value() -> None:
    piece = Piece(Fraction(1), (Factor(A),), frozenset(), FOUR)
    assert is_whole([piece], A)
    assert is_whole([piece], value(KNL, "s", "a[i]", i="__i"))
    assert not is_whole([piece], T)
    assert not is_whole([], A)
    assert not is_whole([piece, piece], A)
    for other in (
        replace(piece, number=Fraction(2)),
        replace(piece, factors=()),
        replace(piece, factors=(Factor(A, divides=True),)),
        replace(piece, factors=(Factor(A), Factor(T))),
    ):
        assert not is_whole([other], A)


def test_inside_and_outside() -> None:
    three = isl.Set("[__i] -> { : __i <= 2 }")
    assert points(PLACE.inside(three).where, ["__i"]) == where(lambda i: 0 <= i <= 2, 1)
    assert points(PLACE.outside(three).where, ["__i"]) == {(3,)}
    assert PLACE.inside(three) == replace(PLACE, where=PLACE.inside(three).where)
    assert PLACE.outside(FOUR).where.is_empty()


def test_over_more_names() -> None:
    pairs = isl.Set("[__i, __k] -> { : 0 <= __i < 4 and 0 <= __k < __i }")
    found = PLACE.over(["__k"], pairs)
    assert found.bound == {"__i", "__k"}
    assert found.where.is_equal(pairs)
    assert (found.number, found.others, found.depth) == (PLACE.number, PLACE.others, 0)
    assert PLACE.over([], FOUR) == PLACE


def test_what_was_written_has_its_instances_names() -> None:
    """And what was there before the kernel, which nothing wrote, has none."""
    stored = value(KNL, "t", i="__j")
    pairs = isl.Set("[__i, __j] -> { : 0 <= __i < 4 and __i = __j }")
    found = PLACE.written(stored, pairs)
    assert found.bound == {"__i", "__j"}
    assert found.depth == 1
    assert found.where.is_equal(pairs)
    there = PLACE.written(replace(value(KNL, "s", "a[i]", i="__j"), was_there=True), pairs)
    assert there.bound == {"__i"}
    assert there.depth == 1
    assert PLACE.written(stored, pairs).written(stored, pairs).depth == 2


COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "any": lambda a, b: bool(a) or bool(b),
    "all": lambda a, b: bool(a) and bool(b),
    SUM: add,
    PRODUCT: mul,
}


@pytest.mark.parametrize("operation", COMBINED)
def test_exact_operations_have_one_result_in_any_order(operation: str) -> None:
    numbers = (0.1, 0.0, 0.2, 0.3, 0.7) if operation in ("any", "all") else (0.1, 0.2, 0.3, 0.7)
    results = {reduce(COMBINED[operation], order) for order in permutations(numbers)}
    assert (len(results) == 1) == (operation in EXACT)


def test_levels_take_more_and_more_apart() -> None:
    assert list(AGAIN) == sorted(Level)
    assert Level.WRITTEN < Level.FOLLOWED < Level.DISTRIBUTED
