"""The way from expressions to isl and back, against Python's arithmetic."""

from __future__ import annotations

import random
import re
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymbolic import parse
from pymbolic.mapper.evaluator import evaluate

import polygen
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    condition_set,
    form_condition,
    form_of_aff,
    is_bounded,
    pw_aff_expression,
    set_condition,
    to_aff,
    to_pw_aff,
    to_val,
)
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.domain import flatten
from polygen.ir.show_expression import show_expression

NAMES = ("i", "j", "n")
CONSTANTS = st.integers(-6, 6)
DIVISORS = st.integers(1, 6)
VALUES = st.fixed_dictionaries({name: st.integers(-20, 20) for name in NAMES})
LEAVES = st.one_of(CONSTANTS, st.sampled_from([ex.Variable(name) for name in NAMES]))
VAR_I, VAR_J, VAR_N = (ex.Variable(name) for name in NAMES)


def point(values: dict[str, int]) -> isl.Set:
    """Return the flat set of a single point."""
    constraints = " and ".join(f"{name} = {value}" for name, value in values.items())
    return isl.Set(f"[{', '.join(values)}] -> {{ : {constraints} }}")


def value_at(function: isl.PwAff, values: dict[str, int]) -> int:
    found = isl.Set.from_pw_aff(function).intersect_params(point(values))
    assert found.is_singleton()
    result: int = found.sample_point().get_coordinate_val(isl.dim_type.set, 0).to_python()
    return result


def holds_at(flat: isl.Set, values: dict[str, int]) -> bool:
    return not flat.intersect(point(values)).is_empty()


def _grow_affine(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(inner, inner).map(ex.Sum),
        st.tuples(CONSTANTS, inner).map(ex.Product),
        st.tuples(inner, DIVISORS).map(lambda p: ex.FloorDiv(*p)),
        st.tuples(inner, DIVISORS).map(lambda p: ex.Remainder(*p)),
    )


AFFINE = st.recursive(LEAVES, _grow_affine, max_leaves=6)
COMPARISONS = st.builds(
    ex.Comparison, AFFINE, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), AFFINE
)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(ex.LogicalAnd),
        st.tuples(inner, inner).map(ex.LogicalOr),
        inner.map(ex.LogicalNot),
    ),
    max_leaves=3,
)


def _grow_pieces(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        _grow_affine(inner),
        st.tuples(inner, inner).map(ex.Min),
        st.tuples(inner, inner).map(ex.Max),
        st.builds(ex.If, COMPARISONS, inner, inner),
    )


PIECEWISE = st.recursive(LEAVES, _grow_pieces, max_leaves=4)


@settings(max_examples=200, deadline=None)
@given(AFFINE, VALUES)
def test_affine_functions_there_and_back(expr: Any, values: dict[str, int]) -> None:
    form = linear_form(expr)
    assert form is not None
    aff = to_aff(form)
    expected = evaluate(expr, values)
    assert value_at(isl.PwAff.from_aff(aff), values) == expected
    assert form_of_aff(aff).evaluate(values) == expected
    assert evaluate(form_of_aff(aff).expression(), values) == expected


@settings(max_examples=150, deadline=None)
@given(PIECEWISE, VALUES)
def test_piecewise_functions_there_and_back(expr: Any, values: dict[str, int]) -> None:
    function = to_pw_aff(expr)
    assert function is not None
    expected = evaluate(expr, values)
    assert value_at(function, values) == expected
    assert evaluate(pw_aff_expression(function), values) == expected


@settings(max_examples=150, deadline=None)
@given(CONDITIONS, VALUES)
def test_conditions_there_and_back(condition: Any, values: dict[str, int]) -> None:
    found = condition_set(condition)
    assert found is not None
    expected = bool(evaluate(condition, values))
    assert holds_at(found, values) == expected
    assert bool(evaluate(set_condition(found), values)) == expected


@pytest.mark.parametrize("extremum", [ex.Min, ex.Max])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("turned", [False, True])
def test_conditions_on_extrema_of_many(extremum: Any, operator: str, turned: bool) -> None:
    """Of seven values, isl's maximum would have 2**7 pieces; of twenty, it does not end."""
    x, values = ex.Variable("x"), [ex.Sum((ex.Variable(f"n{k}"), k)) for k in range(7)]
    bound = ex.Sum((extremum(tuple(values)), -1))
    condition = ex.Comparison(*((bound, operator, x) if turned else (x, operator, bound)))
    found = condition_set(condition)
    assert found is not None
    choose = random.Random(0)
    outcomes: set[bool] = set()
    for _ in range(20):
        point = {f"n{k}": choose.randint(-4, 4) for k in range(7)}
        point["x"] = choose.randint(-6, 12)
        outcomes.add(bool(evaluate(condition, point)))
        assert holds_at(found, point) == bool(evaluate(condition, point))
    assert len(outcomes) == 2
    many = [ex.Variable(f"n{k}") for k in range(40)]
    assert condition_set(ex.Comparison(x, operator, extremum(tuple(many)))) is not None


@settings(max_examples=150, deadline=None)
@given(AFFINE, VALUES)
def test_a_form_as_a_condition(expr: Any, values: dict[str, int]) -> None:
    form = linear_form(expr)
    assert form is not None
    value = evaluate(expr, values)
    assert bool(evaluate(form_condition(form), values)) == (value >= 0)
    assert bool(evaluate(form_condition(form, equality=True), values)) == (value == 0)


@pytest.mark.parametrize(
    ("expr", "shown"),
    [
        (ex.Max((VAR_N, VAR_J)), "max(j, n)"),
        (ex.Min((VAR_N, VAR_J + 1)), "min(j + 1, n)"),
        (ex.Max((VAR_N, VAR_N + 1)), "n + 1"),
        (ex.Max((ex.Min((VAR_N, VAR_N + 3)), VAR_N - 2)), "n"),
        (ex.If(ex.Comparison(VAR_N, ">", 3), VAR_N, VAR_N), "n"),
    ],
)
def test_piecewise_functions_read_well(expr: Any, shown: str) -> None:
    function = to_pw_aff(expr)
    assert function is not None
    assert show_expression(pw_aff_expression(function)) == shown


def test_the_context_simplifies() -> None:
    function = to_pw_aff(ex.Max((VAR_N, VAR_J)))
    assert function is not None
    context = isl.Set("[n, j] -> { : n >= j }")
    assert pw_aff_expression(function, context) == VAR_N


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[i, n] -> { : i < n }", "i < n"),
        ("[i] -> { : i >= 0 }", "i >= 0"),
        ("[i] -> { : i <= 9 }", "i <= 9"),
        ("[i, n] -> { : i <= n }", "i <= n"),
        ("[i, n] -> { : i = n - 3 }", "n == i + 3"),
        ("[io, ii, n] -> { : 16io + ii < n }", "16*io + ii < n"),
        ("[i, n] -> { : 0 <= i < n }", "i >= 0 and i < n"),
        ("[i] -> { : i mod 4 = 0 }", "i % 4 == 0"),
        ("{ : }", "True"),
        ("{ : false }", "False"),
    ],
)
def test_conditions_read_well(text: str, shown: str) -> None:
    assert show_expression(set_condition(isl.Set(text))) == shown


def test_a_projected_set_becomes_a_condition() -> None:
    inner = isl.Set("[n] -> { [i, k] : 2k <= i <= 2k + 1 and 0 <= k and 3k < n }")
    flat = flatten(inner.project_out(isl.dim_type.set, 1, 1))
    condition = set_condition(flat)
    for i, n in product(range(-2, 12), range(-1, 15)):
        expected = any(2 * k <= i <= 2 * k + 1 and 3 * k < n for k in range(20))
        assert bool(evaluate(condition, {"i": i, "n": n})) == expected


def test_names_that_are_not_known() -> None:
    assert to_pw_aff(ex.Max((VAR_I, VAR_J)), {"i"}) is None
    assert to_pw_aff(ex.Max((VAR_I, VAR_J)), {"i", "j"}) is not None
    assert condition_set(ex.Comparison(VAR_I, "<", VAR_J), {"i"}) is None


@pytest.mark.parametrize(
    "text", ["i*j", "max(i, j)*min(i, j)", "a[i]", "max(i, 0.5)", "max(i, j)//n", "max(i, j)//-2"]
)
def test_what_is_not_affine(text: str) -> None:
    assert to_pw_aff(parse(text)) is None


def test_conditions_that_are_not_affine() -> None:
    assert condition_set(parse("a[i] < 3")) is None
    assert condition_set(parse("i < 3 and a[i] < 3")) is None
    assert condition_set(parse("not (a[i] < 3)")) is None
    assert condition_set(VAR_I) is None


def test_constant_conditions() -> None:
    assert not condition_set(True).is_empty()  # type: ignore[union-attr]
    assert condition_set(False).is_empty()  # type: ignore[union-attr]


def test_fractions_are_rounded_down() -> None:
    aff = isl.Aff("[n] -> { [(n)/2] }")
    assert form_of_aff(aff).evaluate({"n": 6}) == 3
    assert form_of_aff(aff).evaluate({"n": -6}) == -3


def test_domain_dimensions_are_names_too() -> None:
    aff = isl.Aff("[n] -> { [i] -> [(n + 2i)] }")
    assert form_of_aff(aff) == LinearForm(0, {"n": 1, "i": 2})


def test_a_function_that_is_defined_nowhere() -> None:
    function = to_pw_aff(VAR_N)
    assert function is not None
    with pytest.raises(InternalError):
        pw_aff_expression(function, isl.Set("[n] -> { : false }"))


@pytest.mark.parametrize(
    ("conditions", "below", "above"),
    [
        ("x >= 0 and x <= 2e < n + x", True, False),
        ("x <= 0 and x <= 2e < n + x", False, True),
        ("x >= 0 and x <= 2e < n", True, True),
        ("x = 2e and 0 <= e < n", True, True),
        ("x = 2e", False, False),
        ("x >= n", True, False),
    ],
)
def test_sets_that_end_somewhere(conditions: str, below: bool, above: bool) -> None:
    values = isl.Set(f"[n] -> {{ [x] : exists (e : {conditions}) }}")
    assert is_bounded(values, above=False) is below
    assert is_bounded(values, above=True) is above
    for ends, end in ((below, values.dim_min), (above, values.dim_max)):
        with nullcontext() if ends else pytest.raises(isl.Error):
            end(0)


def test_numbers_go_to_isl_through_to_val() -> None:
    """`isl.Val` alone refuses numbers past 64 bits with an error of its own."""
    package = Path(polygen.__file__).parent
    paths = {*package.rglob("*.py"), *(package / "transforms").rglob("*.py")}
    direct = re.compile(r"isl\.Val\((?!-?\d+\))")
    found = {path.name for path in paths if direct.search(path.read_text(encoding="utf-8"))}
    assert found == {"isl_affine.py"}
    assert to_val(-(2**63)).to_python() == -(2**63)
    assert to_val(10**30).to_python() == 10**30
