"""Expressions that have the form of another one."""

from __future__ import annotations

import pytest

from polygen.analysis.integers.unification import match, replace_matches
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression, parse_statement
from polygen.language.reductions import resolve_reductions


def parsed(text: str) -> Expression:
    """Return the expression of a text, in which j and k may be reduced over."""
    return resolve_reductions(parse_statement(f"x = {text}"), "jk").values[0]


@pytest.mark.parametrize(
    ("template", "node", "found"),
    [
        ("a[x]", "a[i + 1]", {"x": "i + 1"}),
        ("a[x, y]", "a[i, 2]", {"x": "i", "y": "2"}),
        ("a[x, x]", "a[i, i]", {"x": "i"}),
        ("a[x, x]", "a[i, k]", None),
        ("a[x]", "b[i]", None),
        ("a[x]", "a[i, i]", None),
        ("x", "a[i]", {"x": "a[i]"}),
        ("y + x", "a[i] + 3", {"x": "3", "y": "a[i]"}),
        ("y + x", "a[i] + 3 + 1", None),
        ("y + x", "a[i]*3", None),
        ("x*2", "a[i]*2", {"x": "a[i]"}),
        ("x*2", "a[i]*3", None),
        ("x*2", "a[i]*2.5", None),
        ("sin(x)", "sin(i)", {"x": "i"}),
        ("sin(x)", "cos(i)", None),
        ("i", "i", {}),
        ("i", "k", None),
        ("x < y", "i < 3", {"x": "i", "y": "3"}),
        ("x < y", "i <= 3", None),
        ("sum(j, a[j]*x)", "sum(j, a[j]*b[i])", {"x": "b[i]"}),
        ("sum(j, a[j]*x)", "sum(j, a[j]*b[j])", None),  # means nothing outside
        ("sum(j, a[j]*x)", "sum(k, a[k]*b[i])", None),
        ("sum(j, a[j]*x)", "max(j, a[j]*b[i])", None),
        ("sum(j, sum(k, a[j, k]*x))", "sum(j, sum(k, a[j, k]*b[j]))", None),
        ("x + sum(j, a[j])", "j + sum(j, a[j])", {"x": "j"}),
    ],
)
def test_matching(template: str, node: str, found: dict[str, str] | None) -> None:
    result = match(parsed(template), parsed(node), ["x", "y"])
    shown = None if result is None else {n: show_expression(v) for n, v in result.items()}
    assert shown == found


@pytest.mark.parametrize(
    ("node", "replaced"),
    [
        ("a[i] + a[i + 1]", "f(i) + f(i + 1)"),
        ("b[a[i]]", "b[f(i)]"),
        ("a[a[i]]", "f(f(i))"),
        ("sum(j, a[j]) + 2", "sum(j, f(j)) + 2"),
        ("b[i]*2", "b[i]*2"),
    ],
)
def test_replacing(node: str, replaced: str) -> None:
    def call(values: dict[str, Expression]) -> Expression:
        return ex.Call(ex.Variable("f"), (values["x"],))

    found = replace_matches(parsed(node), parsed("a[x]"), ["x"], call)
    assert show_expression(found) == replaced


@pytest.mark.parametrize(
    ("template", "text", "parameters", "found"),
    [
        ("a[x]", "a[i + 1]", "x", {"x": "i + 1"}),
        ("a[x, y]", "a[i, i]", "xy", {"x": "i", "y": "i"}),
        ("a[x, x]", "a[i, i]", "x", {"x": "i"}),
        ("a[x, x]", "a[i, j]", "x", None),
        ("a[x, i]", "a[j, i]", "x", {"x": "j"}),
        ("a[x, i]", "a[i, j]", "x", None),
        ("a[x]", "b[i]", "x", None),
        ("a[x]", "a[i, j]", "x", None),
        ("x + 2", "i + 2", "x", {"x": "i"}),
        ("x + 2", "i + 2.0", "x", None),
        ("x + y", "i + j + k", "xy", None),
        ("x*y", "i + j", "xy", None),
        ("x < 2", "i < 2", "x", {"x": "i"}),
        ("x < 2", "i <= 2", "x", None),
        ("sin(x)", "sin(a[i])", "x", {"x": "a[i]"}),
        ("sin(x)", "cos(a[i])", "x", None),
        ("if(x > 0, x, -x)", "if(a[i] > 0, a[i], -a[i])", "x", {"x": "a[i]"}),
        ("if(x > 0, x, -x)", "if(a[i] > 0, a[i], -a[j])", "x", None),
        ("sum(k, a[k]*x)", "sum(k, a[k]*i)", "x", {"x": "i"}),
        ("sum(k, a[k]*x)", "sum(l, a[l]*i)", "x", None),
        ("sum(k, a[k]*x)", "product(k, a[k]*i)", "x", None),
        # what a reduction runs over has no meaning outside of it
        ("sum(k, a[k]*x)", "sum(k, a[k]*k)", "x", None),
        ("sum(k, a[k]*x)", "sum(k, a[k]*sum(l, b[l]))", "x", {"x": "sum(l, b[l])"}),
        ("i", "i", "", {}),
    ],
)
def test_matching_of_texts(
    template: str, text: str, parameters: str, found: dict[str, str] | None
) -> None:
    result = match(parse_expression(template), parse_expression(text), parameters)
    expected = None if found is None else {n: parse_expression(t) for n, t in found.items()}
    assert result == expected
