"""`extract_subst`: rules in the place of what has the form of a template."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedExpression,
    NameTaken,
    NothingMatches,
    UserError,
)
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import Step, kernel, split, steps
from tests.transforms.rules.rule_texts import ONE, TWO, texts_of


@pytest.mark.parametrize(
    ("text", "template", "parameters", "expected"),
    [
        ("a[i+1] - a[i]", "a[x]", "x", ["f(x) := a[x]", "f(i + 1) - f(i)"]),
        ("a[i] + a[j]", "a[i]", (), ["f() := a[i]", "f() + a[j]"]),
        ("a[i]*j + a[j]*j", "a[x]*j", "x", ["f(x) := a[x]*j", "f(i) + f(j)"]),
        # in each other
        ("ix[ix[i]] + j", "ix[x]", "x", ["f(x) := ix[x]", "f(f(i)) + j"]),
        ("if(b[i] > 0, b[i], 1) + j", "b[i]", (), ["f() := b[i]", "if(f() > 0, f(), 1) + j"]),
    ],
)
def test_extracted(text: str, template: str, parameters: Any, expected: list[str]) -> None:
    data = [pg.GlobalArg("ix", np.int32, shape="n"), pg.GlobalArg("b", shape="n")]
    knl = kernel(TWO, f"out[i,j] = {text}", *[d for d in data if d.name in text])
    new = pg.extract_subst(knl, "f", template, parameters)
    assert texts_of(new) == expected
    assert new.expanded == knl
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new


def test_writes_are_no_expressions() -> None:
    knl = kernel(ONE, "a[i] = a[i] + 1\nb[ix[i]] = 2", pg.GlobalArg("ix", np.int32))
    new = pg.extract_subst(knl, "f", "a[x]", "x")
    assert show_expression(new.assignments[0].assignees[0]) == "a[i]"
    new = pg.extract_subst(knl, "f", "ix[x]", "x")
    assert show_expression(new.assignments[1].assignees[0]) == "b[f(i)]"


def test_extracted_from_other_rules() -> None:
    knl = kernel(TWO, "g(x) := a[x] + a[i]\nh(i) := a[i] + i\nout[i,j] = g(j) + a[j] + h(j)")
    new = pg.extract_subst(knl, "f", "a[i]")
    # i is an argument of h, not the iname
    assert texts_of(new)[:2] == ["g(x) := a[x] + f()", "h(i) := a[i] + i"]
    assert new.expanded == knl.expanded
    some = pg.extract_subst(knl, "f", "a[x]", "x", within="insn")
    assert texts_of(some) == [*texts_of(knl)[:2], "f(x) := a[x]", "g(j) + f(j) + h(j)"]


def test_a_template_may_use_rules() -> None:
    knl = kernel(TWO, "g(x) := a[x]\nout[i,j] = 2*g(i) + 2*g(j)")
    new = pg.extract_subst(knl, "f", "2*g(x)", "x")
    assert texts_of(new) == ["g(x) := a[x]", "f(x) := 2*g(x)", "f(i) + f(j)"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("f", "c[x]", "x"), NothingMatches, "nothing in kernel .* has the form of f\\(x\\) := c"),
        (("f", "a[1 + i]"), NothingMatches, "written as the template is"),
        (("f", "a[x]", "x, y"), InvalidArgument, "does not mention its parameter 'y'"),
        (("f", "a[x", "x"), MalformedExpression, "found the end"),
        (("f", 3, "x"), InvalidArgument, "template=3, which is not an expression"),
        (("i", "a[x]", "x"), NameTaken, "already has a 'i'"),
        (("abs", "a[x]", "x"), NameTaken, "a function has this name"),
    ],
)
def test_extraction_refused(arguments: Any, error: type[UserError], message: str) -> None:
    knl = kernel(ONE, "out[i] = a[i+1]")
    with pytest.raises(error, match="(?s)" + message):
        pg.extract_subst(knl, *arguments)


def test_rules_are_undone() -> None:
    step: Step = steps(
        lambda k: pg.extract_subst(k, "f", "a[x]", "x"), split("i", 4), pg.expand_subst
    )
    knl = kernel(ONE, "out[i] = a[i] + a[n-1-i]", pg.GlobalArg("a", shape="n"))
    assert step(knl) == split("i", 4)(knl)


def test_parts_of_arrays_stay_parts() -> None:
    """What a call of a kernel is given is no element that a rule could stand for."""
    callee = pg.make_function("{ [k]: 0<=k<3 }", "y[k] = 2*x[k]", ["x", "y"], name="twice")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[q]: out[i, q] = twice([q]: a[i + 1, q])\nmore[i] = a[i, 0] + a[i + 1, 0]",
        [pg.GlobalArg("a", np.float64, "n + 1, 3"), pg.GlobalArg("out", np.float64, "n, 3"), "..."],
        functions={"twice": callee},
    )
    elements = pg.extract_subst(knl, "f", "a[x, y]", "x, y")
    sums = pg.extract_subst(knl, "f", "x + 1", "x")
    assert "more[i] = f(i, 0) + f(i + 1, 0)" in str(elements)
    assert "twice([q]: a[i + 1, q])" in str(elements)
    assert "twice([q]: a[f(i), q])" in str(sums)
    a = np.arange(15.0).reshape(5, 3)
    for new in elements, sums:
        assert pg.parse_kernel(str(new)) == new
        out, more = new(a=a, out=np.zeros((4, 3)), more=np.zeros(4))[1]
        np.testing.assert_array_equal(out, 2 * a[1:])
        np.testing.assert_array_equal(more, a[:-1, 0] + a[1:, 0])


def test_numpy_agrees() -> None:
    knl = kernel(TWO, "out[i,j] = sin(a[i] + 1) - 2*sin(a[j] + 1)*sin(i + 1)")
    run = pg.extract_subst(knl, "f", "sin(x + 1)", "x").executor("c")
    for n in (0, 1, 7):
        a = np.random.default_rng(n).random(n)
        s = np.sin(a + 1)
        wanted = s[:, None] - 2 * s * np.sin(np.arange(n) + 1)[:, None]
        _, (out,) = run(a=a, n=n)
        np.testing.assert_allclose(out, wanted, rtol=1e-13, atol=1e-15)
