"""Expressions of two kernels, compared term by term at the same instances."""

from __future__ import annotations

import numpy as np
import pytest

from polygen.analysis.dataflow.comparison_context import Context, Names
from polygen.analysis.dataflow.computed_difference import Difference
from polygen.language.parser import parse_expression
from tests.analysis.values.compared import LOOP, frame, made, matcher, same_instances
from tests.proof.patterns import array

WRITTEN = "out[i] = a[i] + b[i] + idx[i] + p[i]*x + c[i] {id=r}"
SMALL = array("c", "12", dtype="uint8")
OLD = NEW = made(WRITTEN, LOOP, SMALL)


def _matched(old: str, new: str, domain: str = LOOP) -> Difference | None:
    knl = made(WRITTEN, domain, SMALL)
    names = Names()
    at = same_instances(knl, knl, "r", names)
    return matcher(knl, knl, names).match(parse_expression(old), parse_expression(new), at)


def _choose(condition: bool, then: float, otherwise: float) -> float:
    return then if condition else otherwise


def _values(text: str) -> list[float]:
    """Return what Python computes for each i, of arrays of distinct numbers."""
    arrays = {n: 2.0 ** np.arange(k, 16 + k) + k for k, n in enumerate("abp", 3)}
    given = {**arrays, "idx": np.arange(8)[::-1], "x": 0.375, "min": min, "max": max}
    text = text.replace("if(", "choose(")
    return [
        eval(  # noqa: S307
            text, {"choose": _choose}, {**given, "i": i}
        )
        for i in range(8)
    ]


SAME = [
    ("2*a[i + 1]", "2*a[1 + i]"),
    ("a[i + i]", "a[2*i]"),
    ("a[idx[i] + i]", "a[idx[2*i - i] + i]"),
    ("a[(i + 4)//4]", "a[i//4 + 1]"),
    ("i*8 + 3", "3 + i + 7*i"),
    ("if(i < 4, a[i], b[i])", "if(2*i - i < 3 + 1, a[i], b[i])"),
    ("if(i < 8, a[i], b[i])", "a[i]"),
    ("a[i]", "if(i < 0, b[i], a[i])"),
    ("if(x > 0, a[max(i, 1)], 0.0)", "if(x > 0, a[if(i < 1, 1, i)], 0.0)"),
    ("if(i > 2, a[max(i, 3)], b[i])", "if(i > 2, a[i], b[i])"),  # where it is evaluated
]
OTHER = [
    ("2*a[i + 1]", "2*a[i]"),
    ("2*a[i]", "3*a[i]"),
    ("a[i]", "b[i]"),
    ("a[i] - b[i]", "b[i] - a[i]"),
    ("i + 3", "i + 4"),
    ("min(a[i], b[i])", "max(a[i], b[i])"),
    ("if(i < 4, a[i], b[i])", "if(i <= 4, a[i], b[i])"),
    ("if(i < 7, a[i], b[i])", "a[i]"),
    ("a[i]", "i"),
    ("a[i]", "a[i] + 0*i + 1"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_one_value(old: str, new: str) -> None:
    assert _matched(old, new) is None
    assert _matched(new, old) is None
    assert _values(old) == _values(new)


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_another_value(old: str, new: str) -> None:
    for pair in ((old, new), (new, old)):
        found = _matched(*pair)
        assert found is not None
        assert found.certain
        assert found.insn_id == "r"
    assert _values(old) != _values(new)


def test_the_witness_is_an_instance_that_differs() -> None:
    found = _matched("a[i]", "a[min(i, 6)]")
    assert found is not None
    assert found.is_work
    assert found.point == {"__0_i": 7}
    assert "it would compute a[min(i, 6)] instead of a[i]" in found.what


def test_terms_in_another_order_are_another_expression() -> None:
    """Of floating-point numbers, sums are as they are written; of affine ones, in any order."""
    assert _matched("a[i] + b[i]", "b[i] + a[i]") is not None
    assert _matched("i + 2", "2 + i") is None


def test_nowhere_all_is_the_same() -> None:
    assert _matched("a[i]", "b[i]", "{ [i]: 0<=i<0 }") is None
    assert _matched("a[i]", "b[i]", "{ [i]: 0<=i<1 }") is not None


def test_a_choice_of_another_type_is_not_decided() -> None:
    """The integer of a choice between it and a floating-point number is converted."""
    found = _matched("if(i < 8, idx[i], a[i])", "idx[i]")
    assert found is not None
    assert not found.certain
    assert "of another type in a choice" in found.what


def test_what_wraps_around_is_not_compared_with_what_does_not() -> None:
    names = Names()
    at = same_instances(OLD, NEW, "r", names)
    sides = at.old, at.indexing().new
    node = parse_expression("c[i] + c[i]")
    found = matcher(OLD, NEW, names).match(node, node, Context(at.points, *sides))
    assert found is not None
    assert "wraps around" in found.what
    alike = at.indexing()
    assert matcher(OLD, NEW, names).match(node, node, alike) is None


def test_writes_are_followed_until_it_is_too_deep() -> None:
    names = Names()
    called = names.fresh(("i",))
    at = same_instances(OLD, NEW, "r", names)
    deep = frame(OLD, "r", called)
    for _ in range(8):
        deep = deep.followed(deep.insn, called, {})
    found = matcher(OLD, NEW, names).match(
        parse_expression("1"), parse_expression("1"), Context(at.points, deep, deep)
    )
    assert found is not None
    assert not found.certain
    assert "too many writes" in found.what
