"""Invocations of substitution rules in instructions: in which loops, and under what conditions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import polygen as pg
from polygen.analysis.expansion.rule_uses import Use, replace_uses, uses_in
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import kernel

RULES = "f(x) := a[x]\ng(x, y) := a[x]*a[y]\n"


def made(text: str) -> Kernel:
    return kernel(
        "{ [i,j]: 0<=i,j<n }", f"{RULES}{text}", pg.GlobalArg("a", shape="n"), assumptions="n >= 9"
    )


def uses(knl: Kernel, *rules: str) -> Iterator[Use]:
    """Yield the uses of some rules in the instruction `s`."""
    return uses_in(knl.instruction("s"), lambda use: use.rule in rules)


def shown(use: Use) -> tuple[str, str, list[str]]:
    """Return a use, the inames around it, and what holds there, as texts."""
    conditions = [show_expression(c) for c in use.conditions]
    return show_expression(use.node), "".join(sorted(use.inames)), conditions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("b[i] = f(i) + f(2) {id=s}", [("f(i)", "i", []), ("f(2)", "i", [])]),
        ("b[i] = sum(j, f(j)) + f(i) {id=s}", [("f(j)", "ij", []), ("f(i)", "i", [])]),
        ("b[i] = a[i] {id=s}", []),
        ("b[i] = g(i, 1) {id=s}", []),
        (
            "b[i] = if(i < 3, f(i), f(i - 3)) {id=s}",
            [("f(i)", "i", ["i < 3"]), ("f(i - 3)", "i", ["not i < 3"])],
        ),
        (
            "b[i] = if(f(0) > 1, f(1), 2) {id=s}",
            [("f(0)", "i", []), ("f(1)", "i", ["f(0) > 1"])],
        ),
        ("b[i] = f(i) {id=s, if=i < 4 and i > 1}", [("f(i)", "i", ["i < 4", "i > 1"])]),
        ("b[i] = 1 {id=s, if=f(i) > 0}", [("f(i)", "i", [])]),
        ("b[i] = f(i)*g(f(i), 2) {id=s}", [("f(i)", "i", []), ("f(i)", "i", [])]),
    ],
)
def test_where_a_rule_is_used(text: str, found: list[tuple[str, str, list[str]]]) -> None:
    assert list(map(shown, uses(made(text), "f"))) == found


def test_uses_in_subscripts_of_what_is_written() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "f(x) := at[x]\nb[f(i)] = 2*f(i + 1)  {id=s}",
        pg.GlobalArg("at", "int32", "n + 1"),
        pg.GlobalArg("b", shape="n"),
    )
    assert {shown(use)[0] for use in uses(knl, "f")} == {"f(i)", "f(i + 1)"}


def test_a_use_is_like_a_read() -> None:
    (use,) = uses(made("b[i] = if(i > 1, sum(j, g(i - 1, j)), 0) {id=s}"), "g")
    assert [show_expression(v) for v in use.values] == ["i - 1", "j"]
    read = use.reference
    assert (read.name, read.index, read.is_write) == ("g", use.values, False)
    assert (read.insn, read.conditions) == (use.insn, use.conditions)
    assert read.inames == {"i", "j"}
    assert [show_expression(c) for c in read.conditions] == ["i > 1"]


def test_some_are_replaced_innermost_first() -> None:
    (value,) = made("b[i] = f(i) + g(f(2), f(i)) {id=s}").assignment("s").values

    def twice(use: ex.Invocation) -> ex.Expression:
        return ex.product_of(2, *use.arguments)

    def replaced(*rules: str) -> str:
        return show_expression(replace_uses(value, lambda u: u.rule in rules, twice))

    assert replaced("f") == "2*i + g(2*2, 2*i)"
    assert replaced("g") == "f(i) + 2*f(2)*f(i)"
    assert replaced("f", "g") == "2*i + 2*(2*2)*(2*i)"
    assert replaced() == show_expression(value)
