"""Conditions that have one answer, and what is left of those around them."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polygen.analysis.integers.decided_conditions import Decided, with_answers
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression

CONDITIONS = ["p", "not p", "p and q", "p or q", "not (p and q) or r", "p and (q or not r) and r"]


def value(node: Expression, truth: dict[str, bool]) -> bool:
    """Return what a condition is, by Python's own logic."""
    if isinstance(node, bool):
        return node
    if isinstance(node, ex.LogicalNot):
        return not value(node.child, truth)
    if isinstance(node, ex.LogicalAnd):
        return all(value(child, truth) for child in node.children)
    if isinstance(node, ex.LogicalOr):
        return any(value(child, truth) for child in node.children)
    assert isinstance(node, ex.Variable)
    return truth[node.name]


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("known", [{}, {"p": True}, {"q": False}, {"p": False, "r": True}])
def test_what_is_left_means_the_same(text: str, known: dict[str, bool]) -> None:
    node = parse_expression(text)

    def answer(part: Expression) -> Expression:
        return known.get(part.name, part) if isinstance(part, ex.Variable) else part

    left = with_answers(node, answer)
    for truth in product([False, True], repeat=3):
        named = {**dict(zip("pqr", truth, strict=True)), **known}
        assert value(left, named) == value(node, named)
    assert isinstance(left, bool) or walk.free_variables(left).isdisjoint(known)
    if not known:
        assert left is node


def test_the_whole_is_asked_first() -> None:
    node = parse_expression("p and q")
    assert with_answers(node, lambda part: True if part is node else part) is True


def decided() -> Decided:
    return Decided(isl.Set("[i, n] -> { : 0 <= i < n }"), {"i", "n"})


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("i < n", True),
        ("i >= n", False),
        ("i + 1 <= n and n > 0", True),
        ("i == 0", None),
        ("2*i < n", None),
        ("a[i] < n", None),  # data
    ],
)
def test_conditions_at_a_place(text: str, answer: bool | None) -> None:
    node = parse_expression(text)
    found = decided().condition(node)
    assert found is (node if answer is None else answer)


def test_answers_are_remembered() -> None:
    known = decided()
    first, second = parse_expression("i < n"), parse_expression("i < n")
    assert known.condition(first) is True
    known._known = isl.Set("[i, n] -> { : }")
    assert known.condition(second) is True


def test_choices_stay_choices() -> None:
    known = decided()
    node = parse_expression("if(i < n, x[i], 0) + if(i > 3, y[i], 1)")
    found = known.choices(node)
    assert isinstance(found, ex.Sum)
    first, second = found.children
    assert isinstance(first, ex.If)
    assert first.condition is True
    assert isinstance(second, ex.If)
    assert second.condition == parse_expression("i > 3")
    inside = parse_expression("x[if(i < n, i, 0)]")
    assert known.choices(inside) is inside
