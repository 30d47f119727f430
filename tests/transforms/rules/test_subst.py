"""`expand_subst`, `extract_subst`, `assignment_to_subst`: rules made, used and undone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.integers.unification import match
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    MalformedExpression,
    NameTaken,
    NotARule,
    NothingMatches,
    UnknownArgument,
    UnknownInstruction,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_rule
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.oracle.cases import SIZES, Step, agree, agree_in_arrays, kernel, split, steps

ONE = "{ [i]: 0<=i<n }"
TWO = (ONE, "{ [j]: 0<=j<n }")


def _texts(knl: Kernel) -> list[str]:
    """Return the rules, and what is computed."""
    rules = [show_rule(rule) for rule in knl.substitutions]
    return [*rules, *(show_expression(insn.values[0]) for insn in knl.assignments)]


# --- expand_subst

RULES = kernel(
    TWO,
    """
    f(x) := a[x] + j
    g(x) := 2*f(x)
    out[i,j] = g(i) + f(j)  {id=first}
    other[i,j] = f(i)       {id=second}
    """,
)


def test_expanded_everywhere() -> None:
    new = pg.expand_subst(RULES)
    assert _texts(new) == ["2*(a[i] + j) + (a[j] + j)", "a[i] + j"]
    assert new == RULES.expanded
    assert pg.expand_subst(new) is new


def test_expanded_here_and_there() -> None:
    new = pg.expand_subst(RULES, within="first")
    # g is gone, f is needed still
    assert _texts(new) == ["f(x) := a[x] + j", "2*(a[i] + j) + (a[j] + j)", "f(i)"]
    new = pg.expand_subst(RULES, within="id:second")
    assert _texts(new)[:2] == ["f(x) := a[x] + j", "g(x) := 2*f(x)"]
    with pytest.raises(UnknownInstruction):
        pg.expand_subst(RULES, within="third")


def test_expanded_after_a_split() -> None:
    new = pg.expand_subst(split("j", 4)(RULES), within="second")
    assert _texts(new)[-1] == "a[i] + (4*j_outer + j_inner)"
    agree(RULES, SIZES[:4], pg.expand_subst, steps(split("j", 4), pg.expand_subst))


# --- extract_subst


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
def test_matching(template: str, text: str, parameters: str, found: dict[str, str] | None) -> None:
    result = match(parse_expression(template), parse_expression(text), parameters)
    expected = None if found is None else {n: parse_expression(t) for n, t in found.items()}
    assert result == expected


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
    assert _texts(new) == expected
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
    assert _texts(new)[:2] == ["g(x) := a[x] + f()", "h(i) := a[i] + i"]
    assert new.expanded == knl.expanded
    some = pg.extract_subst(knl, "f", "a[x]", "x", within="insn")
    assert _texts(some) == [*_texts(knl)[:2], "f(x) := a[x]", "g(j) + f(j) + h(j)"]


def test_a_template_may_use_rules() -> None:
    knl = kernel(TWO, "g(x) := a[x]\nout[i,j] = 2*g(i) + 2*g(j)")
    new = pg.extract_subst(knl, "f", "2*g(x)", "x")
    assert _texts(new) == ["g(x) := a[x]", "f(x) := 2*g(x)", "f(i) + f(j)"]


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


# --- assignment_to_subst

BLUR = kernel(
    ("{ [i]: 0<=i<n }", "{ [k]: 0<=k<n+2 }"),
    """
    row[k] = a[k] + a[k+1] + a[k+2]  {id=row}
    out[i] = row[i] + row[i+2]       {id=out}
    """,
    pg.TemporaryVariable("row", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
    assumptions="n <= 14",
)


def test_a_temporary_becomes_a_rule() -> None:
    new = pg.assignment_to_subst(BLUR, "row")
    assert _texts(new) == [
        "row_subst(k) := a[k] + a[k + 1] + a[k + 2]",
        "row_subst(i) + row_subst(i + 2)",
    ]
    assert new.temporaries == ()
    assert [(insn.id, insn.depends_on) for insn in new.instructions] == [("out", frozenset())]
    a = np.arange(14.0) ** 2
    _, (out,) = new(a=a, n=10)
    row = a[:-2] + a[1:-1] + a[2:]
    np.testing.assert_array_equal(out, row[:-2] + row[2:])


@pytest.mark.parametrize("within", [None, "out", ["out", "again"]])
def test_some_readers_only(within: Any) -> None:
    knl = kernel(
        ONE,
        """
        <> t = 2*a[i]   {id=t}
        out[i] = t*t    {id=out}
        more[i] = t + i {id=again}
        """,
    )
    new = pg.assignment_to_subst(knl, "t", within=within)
    assert ("t" in new.variables) == (within == "out")
    agree_in_arrays(knl, SIZES[:3], lambda k: pg.assignment_to_subst(k, "t", within=within))


def test_an_argument_is_written_still() -> None:
    # b might round what is stored in it
    knl = kernel(ONE, "b[i] = 2*a[i] {id=b}\nc[i] = b[i] + 1 {id=c}")
    with pytest.raises(CannotProve, match="'b': its type may not be that of what is stored in it"):
        pg.assignment_to_subst(knl, "b")
    new = pg.assignment_to_subst(pg.add_dtypes(knl, {"a": "float32", "b": "float32"}), "b")
    assert _texts(new) == ["b_subst(i) := 2*a[i]", "2*a[i]", "b_subst(i) + 1"]


def test_a_number_that_is_written_as_subscript_is_no_argument() -> None:
    knl = kernel(ONE, "b[0] = 2*a[3] {id=b}\nc[i,0] = a[i] + b[0] {id=c}\nd[i] = c[i,0]*b[0]")
    knl = pg.add_dtypes(knl, dict.fromkeys("abc", "float64"))
    new = pg.assignment_to_subst(pg.assignment_to_subst(knl, "b"), "c", within="insn")
    assert _texts(new)[:2] == ["b_subst() := 2*a[3]", "c_subst(i) := a[i] + b_subst()"]
    assert _texts(new)[-2:] == ["a[i] + b_subst()", "c_subst(i)*b_subst()"]
    a = np.arange(5.0)
    _, found = new(a=a, n=5)
    for array, wanted in zip(found, ([6.0], (a + 6)[:, None], (a + 6) * 6), strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_another_element_than_the_one_that_is_written_is_read_as_before() -> None:
    knl = kernel(ONE, "b[1] = 2*a[3] {id=b}\nc[i] = b[0] + b[1] {id=c,dep=b}")
    new = pg.assignment_to_subst(pg.add_dtypes(knl, dict.fromkeys("ab", "float64")), "b")
    assert _texts(new)[-1] == "b[0] + b_subst()"


def test_readers_in_rules() -> None:
    knl = kernel(ONE, "f(x) := t + x\n<> t = a[i] {id=t}\nout[i] = f(i) {id=out,dep=t,inames=i}")
    new = pg.assignment_to_subst(knl, "t")
    assert _texts(new) == ["t_subst() := a[i]", "t_subst() + i"]


def test_what_it_reads_may_change_before_it_is_read() -> None:
    knl = kernel(
        (ONE, "{ [j]: 0<=j<n }"),
        """
        t[i] = a[i]        {id=t, dep=*}
        a[i] = 0           {id=zero, dep=t}
        out[j] = t[j]      {id=out, dep=t:zero}
        """,
        pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
        assumptions="n <= 16",
    )
    with pytest.raises(IllegalStep):
        pg.assignment_to_subst(knl, "t")


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        ("t = 0 {id=s}\nt = a[i] {id=t,dep=s}\nout[i] = t {dep=t}", "t", NotARule, "'t' writes it"),
        ("t = a[i] {if=i > 0}\nout[i] = t {if=i > 0}", "t", NotARule, "under a condition"),
        ("b[i] = b[i] + a[i]\nout[i] = b[i]", "b", NotARule, "depends on its old one"),
        ("t = a[i]\nout[i] = 2", "t", NotARule, "nothing that reads it"),
        ("b[i+1] = a[i]\nout[i] = b[i+1]", "b", NotARule, "is neither an iname nor a number"),
        ("b[i,i] = a[i]\nout[i] = b[i,i]", "b", NotARule, "are one iname"),
        ("t = a[i]\nout[i] = t", "a", InvalidArgument, "lhs_name='a', which is not the name of"),
        ("t = a[i]\nout[i] = t", "tt", UnknownArgument, "no argument or temporary 'tt'"),
    ],
)
def test_no_rule_can_be_made(text: str, name: str, error: type[UserError], message: str) -> None:
    knl = kernel(ONE, text, *([pg.TemporaryVariable("t")] if "t = " in text else []))
    with pytest.raises(error, match=message):
        pg.assignment_to_subst(knl, name)


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


def test_a_variable_that_bounds_a_loop_is_still_written() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<last }"],
        "<int32> last = count[i]\nout[i] = sum(j, 1.0*j)\nmore[i] = 2*last",
        [pg.GlobalArg("count", np.int32), "..."],
    )
    # With bounds that are data it is beyond proof.
    taken: dict[str, Any] = {"unsafe": True}
    new = pg.assignment_to_subst(knl, "last", **taken)
    assert "[i] last = count[i]  {id=insn}" in str(new)
    assert "more[i] = 2*last_subst()" in str(new)
    count = np.array([0, 3, 5, 1], np.int32)
    more, out = new(count=count)[1]
    np.testing.assert_array_equal(out, count * (count - 1) / 2)
    np.testing.assert_array_equal(more, 2 * count)


def test_bounds_have_no_rules() -> None:
    knl = pg.make_kernel(
        ["{ [r]: 0<=r<n }", "{ [e]: 0<=e<count }"],
        ["<> count = size[r]", "out[r] = sum(e, a[e])"],
        [pg.GlobalArg("size", "int32", "n"), pg.GlobalArg("a", "float32", "m"), "..."],
    )
    with pytest.raises(NotARule, match=r"it bounds the loops in .*0 <= e < count"):
        pg.assignment_to_subst(knl, "count")
