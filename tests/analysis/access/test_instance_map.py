"""Instances in terms of new inames, and expressions that are plainly at them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from polygen.analysis.access.instance_map import (
    UNMOVED,
    InstanceMap,
    at_new_instance,
    instruction_at,
    is_at_new_instance,
    mentioned,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, identical
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_statement
from polygen.language.reductions import resolve_reductions
from tests.oracle.cases import kernel

INAME, J, N, R = (ex.Variable(name) for name in "ijnr")


def _plus(*terms: Expression) -> Expression:
    return ex.sum_of(*terms)


def test_an_instruction_has_its_own_map_as_a_whole() -> None:
    instances = InstanceMap({"i": R, "j": R}, {"s": {"i": J}})
    assert instances.value("s", "i") == J
    assert instances.value("s", "j") == J
    assert instances.value("u", "j") == R
    assert instances.value("u", "k") == ex.Variable("k")
    assert instances.moves("s", frozenset("i"))
    assert not instances.moves("s", frozenset("j"))


REWRITTEN: list[tuple[str, Mapping[str, Expression], str, str]] = [
    # an expression, what inames are, the inames around, and what it becomes
    ("a[i + 1]", {"i": _plus(N, ex.negated(INAME))}, "i", "a[n - i + 1]"),
    ("sum(j, a[i, j])", {"j": _plus(R, INAME)}, "i", "sum(r, a[i, r + i])"),
    ("sum(j, a[i, j])", {"i": J, "j": INAME}, "i", "sum(i, a[j, i])"),
    ("sum(i, sum(j, a[i, j]))", {"i": J, "j": INAME}, "", "sum(j, sum(i, a[j, i]))"),
    (
        "sum((i, j), a[i, j])",
        {"j": _plus(R, ex.negated(INAME))},
        "",
        "sum((i, r), a[i, r - i])",
    ),
    ("sum(i, b[i]) + sum(j, b[j])", {"i": R, "j": R}, "", "sum(r, b[r]) + sum(r, b[r])"),
]


@pytest.mark.parametrize(("text", "values", "around", "expected"), REWRITTEN)
def test_expressions_in_terms_of_new_inames(
    text: str, values: Mapping[str, Expression], around: str, expected: str
) -> None:
    statement = parse_statement(f"x = {text}  {{inames={around}}}")
    node = resolve_reductions(statement, "ij").values[0]
    found = at_new_instance(node, frozenset(around), values, ["i", "j", "r"])
    assert show_expression(found) == expected


PLAIN: list[tuple[str, str, Mapping[str, Expression], bool]] = [
    ("a[i + 1]", "a[r + 1]", {"i": R}, True),
    ("a[i + 1]", "a[r + j + 1]", {"i": _plus(R, J)}, True),
    ("a[1 + i]", "a[1 + r + j]", {"i": _plus(R, J)}, True),
    ("a[i, 2*i]", "a[j, 2*j]", {"i": J}, True),
    ("a[i, j] - 2*a[j, i]", "a[j, i] - 2*a[i, j]", {"i": J, "j": INAME}, True),
    ("a[i + j]", "a[j + i]", {"i": J, "j": INAME}, True),
    ("a[i + j]", "a[r + j + r]", {"i": _plus(R, J), "j": R}, True),
    ("a[i + j]", "a[r + r + r]", {"i": _plus(R, J), "j": R}, False),
    ("a[i + 1]", "a[r + 2]", {"i": R}, False),
    ("a[i + 1]", "a[r + 1.0]", {"i": R}, False),
    ("a[i + 1]", "a[i + 1]", {"i": R}, False),
    ("a[2*i + 1]", "a[2*i + 1]", {"i": _plus(R, J)}, False),
    ("a[i + 1]", "a[r + 1 + 1]", {"i": R}, False),
    ("a[i + 1]", "a[r]", {"i": R}, False),
    ("a[i]", "b[r]", {"i": R}, False),
    ("a[i]", "a[r, r]", {"i": R}, False),
    ("a[i] + 2", "a[r] + 2.0", {"i": R}, False),
    ("a[i]*b[i]", "a[r] + b[r]", {"i": R}, False),
    ("sum(j, a[i + 1, j])", "sum(j, a[r + 1, j])", {"i": R}, True),
    ("sum(j, a[i, j])", "sum(j, a[i, j])", {"i": R}, False),
    ("sum(j, a[i, j])", "sum(r, a[r, j])", {"i": R}, False),
    ("sum(j, a[i, j])", "product(j, a[r, j])", {"i": R}, False),
    ("2*sum(j, a[i, j])", "2*sum(j, a[r + 1, j])", {"i": _plus(R, 1)}, True),
    ("i + 1", "r + j + 1", {"i": _plus(R, J)}, False),  # no subscript: a sum in a sum
]


@pytest.mark.parametrize(("old", "new", "values", "seen"), PLAIN)
def test_expressions_that_are_plainly_at_the_new_instance(
    old: str, new: str, values: Mapping[str, Expression], seen: bool
) -> None:
    statements = (parse_statement(f"x = {text}  {{inames=}}") for text in (old, new))
    first, second = (resolve_reductions(s, "ijr").values[0] for s in statements)
    assert is_at_new_instance(first, second, values) is seen
    around = frozenset("ij") - walk.reduction_inames(first)
    moved = at_new_instance(first, around, values, ["i", "j", "r"])
    assert identical(moved, second) is seen


def test_what_a_reduction_would_capture_is_not_plain() -> None:
    statement = parse_statement("x = sum(j, a[i, j]) + sum(j, a[j, j])  {inames=}")
    first, second = walk.parts(resolve_reductions(statement, "ij").values[0])
    assert not is_at_new_instance(first, second, {"i": J})
    assert is_at_new_instance(first, first, {"k": J})


def test_nothing_is_moved() -> None:
    assert UNMOVED.of("s") == {}
    assert UNMOVED.value("s", "i") == INAME
    assert not UNMOVED.moves("s", frozenset("ij"))


def test_new_inames_that_say_what_old_ones_are() -> None:
    """In the order of the old ones, each once; those of one value, in the order of the kernel."""
    values = {"i": _plus(R, J), "k": ex.product_of(4, R), "l": 3}
    known = ["j", "r", "i", "n"]
    assert mentioned("i", values, known) == ("j", "r")
    assert mentioned("mki", values, known) == ("m", "r", "j")
    assert mentioned("l", values, known) == ()  # it has one value
    assert mentioned("", values, known) == ()
    assert mentioned("i", {"i": _plus(N, ex.negated(R))}, ["r"]) == ("r",)  # n is no iname


def test_an_instruction_at_new_instances() -> None:
    knl = kernel("{ [i, k]: 0<=i<n and 0<=k<4 }", "b[i] = a[i] + sum(k, c[i, k]) {id=s, if=i>2}")
    insn = knl.instruction("s")
    moved = instruction_at(insn, {"i": _plus(J, R), "k": _plus(3, ex.negated(R))}, ["j", "r"])
    assert moved.within_inames == {"j", "r"}
    assert [show_expression(a) for a in moved.assignees] == ["b[j + r]"]
    assert [show_expression(p) for p in moved.predicates] == ["j + r > 2"]
    assert instruction_at(insn, {}, ["i", "k"]) == insn
    outer = ex.product_of(4, J)
    split = instruction_at(insn, {"i": _plus(outer, R)}, ["j", "r", "k"])
    assert isinstance(split, Assignment)
    assert [show_expression(v) for v in split.values] == ["a[4*j + r] + sum(k, c[4*j + r, k])"]
