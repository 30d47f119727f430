"""Calls that stand for other expressions: the definitions, beside what the functions are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import nan
from typing import Any

import pytest
from pymbolic.mapper.evaluator import evaluate

import polygen as pg
from polygen.analysis.integers.function_definitions import NAMES, meaning_of
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.ir import expression as ex
from polygen.ir.callables import UserFunction

X, Y, Z = (ex.Variable(name) for name in "xyz")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "isequal": lambda x, y: x == y,
    "isnotequal": lambda x, y: x != y,
    "isgreater": lambda x, y: x > y,
    "isgreaterequal": lambda x, y: x >= y,
    "isless": lambda x, y: x < y,
    "islessequal": lambda x, y: x <= y,
    "islessgreater": lambda x, y: x < y or x > y,
}
CHOSEN: dict[str, Callable[[int, int, int], int]] = {
    "clamp": lambda x, least, most: min(max(x, least), most),
    "select": lambda x, y, which: y if which else x,
}
ROUNDED = {"lrint": "rint", "llrint": "rint", "lround": "round", "llround": "round"}


def _meaning(name: str, *arguments: ex.Expression) -> ex.Expression:
    found = meaning_of(ex.Call(ex.Variable(name), arguments))
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name: str) -> None:
    meaning = _meaning(name, X, Y)
    for x, y in product((-1, 0, 2.5, nan), repeat=2):
        assert bool(evaluate(meaning, {"x": x, "y": y})) == COMPARED[name](x, y)


@pytest.mark.parametrize("name", CHOSEN)
def test_choices(name: str) -> None:
    meaning = _meaning(name, X, Y, Z)
    for x, y, z in product(range(-2, 3), repeat=3):
        assert evaluate(meaning, {"x": x, "y": y, "z": z}) == CHOSEN[name](x, y, z)


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_to_an_integer_is_rounding_and_a_conversion(name: str) -> None:
    inner = ex.Call(ex.Variable(ROUNDED[name]), (X,))
    assert _meaning(name, X) == ex.Call(ex.Variable("int64"), (inner,))


def test_only_these_names_stand_for_something_else() -> None:
    assert {*COMPARED, *CHOSEN, *ROUNDED} == NAMES
    assert set(FUNCTIONS) >= NAMES
    for name in [*FUNCTIONS, "int64", "of_the_user", "isless_"]:
        if name not in NAMES:
            assert meaning_of(ex.Call(ex.Variable(name), (X, Y, Z))) is None


def test_a_function_of_the_user_s_keeps_its_name() -> None:
    """A kernel that was made, and pickled, before there was a function of its name."""
    own = pg.ScalarCallable({"mine": "int32, int32, int32 -> int32"})
    arguments = (ex.Variable("i"), 0, 7)
    assert meaning_of(ex.Call(UserFunction("clamp", own), arguments)) is None
    assert meaning_of(ex.Call(ex.Variable("clamp"), arguments)) == ex.Min(
        (ex.Max((ex.Variable("i"), 0)), 7)
    )
