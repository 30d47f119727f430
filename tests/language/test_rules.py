"""Substitution rules: what they stand for, how they are printed, what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.accesses import references
from polygen.errors import (
    IllegalStep,
    InternalError,
    MalformedExpression,
    MalformedInstruction,
    MalformedKernel,
    MalformedText,
    NameTaken,
    ReservedName,
    RuleCycle,
    UnknownIname,
    UnknownName,
    UnknownRule,
    UserError,
    WrongArity,
)
from polygen.ir import expression as ex
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_instruction
from tests.oracle.cases import grid, kernel, split
from tests.oracle.compare import check, make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.oracle.trace import traced

TWO = ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<n }")


def _body(knl: Kernel) -> str:
    (insn,) = knl.expanded.instructions
    return show_instruction(insn, knl.inames)


@pytest.mark.parametrize(
    ("rules", "use", "meaning"),
    [
        ("f(x) := x*a[x]", "f(2*i)", "(2*i)*a[2*i]"),
        ("f(x) := x*a[x]", "f(i + 1) + f(0)", "(i + 1)*a[i + 1] + 0*a[0]"),
        ("f() := a[i]", "f()", "a[i]"),
        ("f(x, y) := x*y", "f(f(i, 1), f(2, i))", "(i*1)*(2*i)"),
        # the arguments are replaced all at once
        ("f(x, y) := x - y*y", "f(j, i)", "j - i*i"),
        ("f(i, j) := a[i] - j", "f(j, i)", "a[j] - i"),
        # rules in rules, whatever their order
        ("g(x) := 2*f(x + 1)\nf(x) := a[x]", "g(i)", "2*a[i + 1]"),
        ("f(x) := a[x]\ng(x) := f(x) + f(x + j)", "g(i)", "a[i] + a[i + j]"),
        # an argument that is called like an iname is an argument; other names are inames
        ("f(j) := a[j] + i", "f(3)", "a[3] + i"),
        ("f(x) := x + n", "f(i)", "i + n"),
        # what an inner rule mentions is not an argument of the outer one
        ("h(y) := a[y] + i\ng(i) := 2*h(i)", "g(j)", "2*(a[j] + i)"),
        ("h(y) := a[y] + i\ng(i, i_0) := i_0*h(i)", "g(j, 3)", "3*(a[j] + i)"),
        ("h(y) := a[y]\ng(a) := a*h(i)", "g(2)", "2*a[i]"),
        ("h(y) := y*n\ng(n) := h(n) + n\nf(n) := g(n)", "f(i)", "i*n + i"),
        ("h(y) := y + i\ng(i) := h(i, i=i)", "g(j)", "j + j"),
        # reductions
        ("f(x) := sum(k, a[k]*x)", "f(i)", "sum(k, a[k]*i)"),
        ("f(x) := min(k, a[k] + x)", "f(i)", "min(k, a[k] + i)"),
        ("f(k) := min(k, 3)", "f(i)", "min(i, 3)"),
        ("f(x) := a[x]*k", "sum(k, f(k))", "sum(k, a[k]*k)"),
        ("f(x) := a[x]*k", "sum(k, f(k, k=k + 1))", "sum(k, a[k]*(k + 1))"),
        ("f(x) := a[x]", "max(k, f(k))", "max(k, a[k])"),
        # tags and named inames
        ("f(x) := x + i", "f$t(1) + f$u(2, i=3)", "(1 + i) + (2 + 3)"),
        ("f(x) := if(x > 0, a[x], 0)", "f(i)", "if(i > 0, a[i], 0)"),
    ],
)
def test_what_a_rule_stands_for(rules: str, use: str, meaning: str) -> None:
    knl = kernel(TWO, f"{rules}\nout[i,j] = {use}  {{inames=i:j}}")
    plain = kernel(TWO, f"out[i,j] = {meaning}  {{inames=i:j}}")
    assert _body(knl) == _body(plain)
    assert knl.variables == plain.variables
    assert pg.parse_kernel(str(knl)) == knl


def test_a_rule_without_arguments_may_be_named() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }",
        """
        total := sum(j, a[i,j])
        twice() := 2*total
        out[i] = total*twice() + twice
        """,
    )
    assert "total() := sum(j, a[i, j])" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    a = np.arange(12.0).reshape(4, 3)
    total = a.sum(axis=1)
    (out,) = knl(a=a)[1]
    assert np.array_equal(out, total * 2 * total + 2 * total)


@pytest.mark.parametrize("use", ["s[i]", "0\ns[i] = 4"])
def test_a_rule_is_no_array(use: str) -> None:
    with pytest.raises(NameTaken, match="'s' is a substitution rule, and is used as a variable"):
        pg.make_kernel("{ [i]: 0<=i<n }", f"s := 3\nout[i] = {use}")


def test_a_rule_is_printed() -> None:
    knl = kernel(TWO[0], "f(x) := x*a[x]\nout[i] = f(i) + f$t(2)")
    assert "SUBSTITUTION RULES:\nf(x) := x*a[x]\n" in str(knl)
    assert "[i] out[i] = f(i) + f$t(2)  {id=insn}" in str(knl)


def test_rules_say_which_inames_an_instruction_is_within() -> None:
    knl = kernel(
        TWO,
        "f(x) := a[x] + j\nt[i] = f(i)\nout[i] = t[i] + j",
        pg.TemporaryVariable("t", shape=4),
        assumptions="n <= 4",
    )
    assert [i.within_inames for i in knl.instructions] == [{"i", "j"}] * 2
    assert knl.instructions[1].depends_on == {"insn"}


def test_an_instruction_that_is_an_object_may_invoke_a_rule() -> None:
    call = ex.Call(ex.Variable("f"), (ex.Variable("i"),))
    insn = Assignment("s", ex.Subscript(ex.Variable("out"), ex.Variable("i")), call, frozenset("i"))
    knl = kernel(TWO[0], ["f(x) := 2*a[x]", insn])  # type: ignore[arg-type]
    assert _body(knl) == "[i] out[i] = 2*a[i]  {id=s}"


RULES = """
    f(x) := a[x]*b[j]
    g(x) := sum(k, f(x)*c[k]) + i
    out[i,j] = g(i) + f(j)
"""


@pytest.mark.parametrize(
    "step",
    [
        lambda knl: knl,
        split("i", 4),
        split("j", 3),
        split("k", 2),
        grid("i", 4),
        lambda knl: split("k_outer", 2)(split("k", 3)(knl)),
        lambda knl: pg.rename_iname(pg.rename_iname(knl, "i", "row"), "k", "kk"),
        lambda knl: pg.rename_iname(split("i", 4)(knl), "i_inner", "x"),
        lambda knl: pg.map_domain(knl, "[n] -> { [i] -> [r] : r = n - 1 - i }"),
        lambda knl: pg.map_domain(knl, "[n] -> { [k] -> [r] : r = n - 1 - k }"),
        lambda knl: pg.map_domain(knl, "{ [i, j] -> [i, r] : r = i + j }"),
    ],
)
def test_rules_follow_when_inames_move(step: Callable[[Kernel], Kernel]) -> None:
    knl = kernel(TWO, RULES)
    new = step(knl)
    assert new.substitutions
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new
    for n in (0, 1, 5):
        arguments = make_arguments(knl, {"n": n})
        a, b, c = (arguments[name] for name in "abc")
        i, j = np.ogrid[:n, :n]
        expected = a[i] * b[j] * c.sum() + i + a[j] * b[j]
        np.testing.assert_array_equal(interpret(new, arguments).arrays["out"], expected)
        marked = traced(typed(knl, arguments))
        check(marked, arguments, [step(marked.kernel)])


def test_a_rule_is_one_although_inames_differ() -> None:
    knl = kernel(TWO, "f(x) := a[x] + j\nout[i,j] = f(i)  {id=s}\nmore[i,j] = f(2)  {id=t}")
    new = pg.duplicate_inames(knl, "j", within="t")
    assert show_instruction(new.instructions[1], new.inames).startswith(
        "[i, j_0] more[i, j_0] = f(2, j=j_0)"
    )
    assert [r.name for r in new.substitutions] == ["f"]
    assert pg.parse_kernel(str(new)) == new


def test_what_is_asked_of_a_kernel_is_asked_of_what_it_stands_for() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "f(x) := a[x-1]\na[i] = f(i) + 1", pg.GlobalArg("a", shape="n"))
    plain = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1", pg.GlobalArg("a", shape="n"))
    assert [str(d) for d in pg.dependences(knl)] == [str(d) for d in pg.dependences(plain)]
    assert str(pg.parallel_inames(knl)) == str(pg.parallel_inames(plain))
    with pytest.raises(IllegalStep):
        pg.tag_inames(knl, {"i": "g.0"})


def test_kernels_with_rules_are_values() -> None:
    knl = split("i", 4)(kernel(TWO, RULES))
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    assert hash(pickle.loads(pickle.dumps(knl))) == hash(knl)  # noqa: S301
    assert knl != knl.copy(substitutions=knl.substitutions[:1])


def test_a_split_iname_is_named_where_the_rule_is_invoked() -> None:
    knl = split("i", 16)(kernel(TWO[0], "f(x) := a[x] + i\nout[i] = f(i)"))
    assert "f(x) := a[x] + i\n" in str(knl)
    assert "= f(16*i_outer + i_inner, i=16*i_outer + i_inner)  {" in str(knl)
    # the name stays one of the rule's
    with pytest.raises(NameTaken):
        pg.rename_iname(knl, "i_inner", "i")


def test_parameters_are_fixed_in_rules() -> None:
    knl = kernel(
        TWO[0], "f(x) := x*n\ng(n) := n + 1\nout[i] = f(a[i]) + g(i)", pg.GlobalArg("a", shape="n")
    )
    new = pg.fix_parameters(knl, n=8)
    assert _body(new) == "[i] out[i] = a[i]*8 + (i + 1)  {id=insn}"


def test_a_kernel_with_rules_runs() -> None:
    knl = kernel(TWO[0], "f(x) := 2*a[x]\nout[i] = f(i) + f(n - 1 - i)")
    a = np.arange(5.0)
    _, (out,) = knl(a=a)
    np.testing.assert_array_equal(out, 2 * a + 2 * a[::-1])
    assert "f(" not in str(pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}), "c"))


# --- refused


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("f(x) := x\nout[i] = f(i, 2)", WrongArity, "gives 2 arguments to rule 'f', which takes 1"),
        ("f(x) := x\ng(x) := f()\nout[i] = g(i)", WrongArity, "gives 0 arguments to rule 'f'"),
        ("f(x) := f(x)\nout[i] = f(i)", RuleCycle, "'f' is part of 'f'"),
        ("f(x) := g(x)\ng(x) := 1 + f(x)\nout[i] = i", RuleCycle, "'f'.*'g'"),
        ("f(x) := x\nout[i] = ff$t(i)", UnknownRule, "no rule 'ff'.*did you mean 'f'"),
        (
            "f(x) := x\nout[i] = f(i, j=2)",
            UnknownName,
            "says what 'j' is, which is no iname in rule",
        ),
        ("f(x) := x\nf(x) := x\nout[i] = f(i)", NameTaken, "two rules have this name"),
        ("exp(x) := x\nout[i] = exp(i)", ReservedName, "'exp' has a meaning"),
        ("abs(x) := x\nout[i] = abs(i)", NameTaken, "a function has this name"),
        ("sum(x) := x\nout[i] = i", NameTaken, "a function has this name"),
        ("i(x) := x\nout[i] = i(2)", NameTaken, "more than one name 'i'"),
        (
            "a(x) := x\nout[i] = a[i] + a(2)",
            NameTaken,
            "'a' is a substitution rule, and is used as a variable",
        ),
        ("f(x, x) := x\nout[i] = f(1, 2)", MalformedKernel, "two arguments 'x'"),
        ("f(for) := 1\nout[i] = f(1)", ReservedName, "'for' has a meaning"),
        ("f(x) := q\nout[i] = i", UnknownName, "rule 'f' mentions 'q'"),
        ("f(x) := sum(q, x)\nout[i] = f(i)", UnknownIname, "runs over 'q'"),
        ("f(x) := sum(k, a[k]) + k\nout[i] = f(i)", MalformedKernel, "reduces over 'k', which has"),
        # what an invocation gives means the same in the rule
        ("f(x) := sum(k, a[k]*x)\nout[k] = f(k)", MalformedKernel, "'f\\(k\\)' gives 'k' to rule"),
        ("f(x) := sum(k, x)\nout[i] = sum(k, f(k))", MalformedKernel, "gives 'k' to rule 'f'"),
        ("f(x) := sum(k, x)\nout[i] = f(sum(k, a[k]))", MalformedKernel, "gives 'k' to rule 'f'"),
        ("g(x) := sum(k, x)\nf(x) := g(x)\nout[k] = f(k)", MalformedKernel, "gives 'k' to rule"),
        ("f(x) := sum(k, x)\nout[i] = f(i)  {inames=i:k}", MalformedKernel, "also within"),
        # not in the language
        ("f(x + 1) := x\nout[i] = f(i)", MalformedInstruction, "found '\\+'"),
        ("f(x) := \nout[i] = f(i)", MalformedInstruction, "found the end"),
        ("f(x) := x {id=s}\nout[i] = f(i)", MalformedInstruction, "found '{'"),
        ("out[i] = f(i=2, 3)", MalformedInstruction, "no rule takes"),
        ("out[i] = f(x=2, x=3)", MalformedInstruction, "an iname twice"),
        ("out[i] = f$t((i, j))", MalformedInstruction, "no rule takes"),
        ("a[i] := 3\nout[i] = i", MalformedInstruction, "found ':'"),
    ],
)
def test_refused(text: str, error: type[UserError], message: str) -> None:
    with pytest.raises(error, match="(?s)" + message):
        kernel(TWO, text)


def test_shapes_cannot_invoke_rules() -> None:
    with pytest.raises(MalformedExpression, match="invokes a substitution rule"):
        kernel(TWO[0], "f(x) := x\nout[i] = f(i)", pg.GlobalArg("out", shape="f(n=1)"))


def _edited(old: str, new: str) -> str:
    text = str(kernel(TWO[0], "f(x) := a[x] + i\nout[i] = f(i)"))
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("f(x) :=", "g(x) :=", UnknownName, "function 'f'|no rule 'f'"),
        ("= f(i)", "= f()", WrongArity, "line 1[0-9]: .*gives 0 arguments"),
        ("+ i\n", "+ q\n", UnknownName, "mentions 'q'"),
        ("f(x) := a[x] + i", "f(x) = 2", MalformedInstruction, "found '='"),
    ],
)
def test_refused_texts(old: str, new: str, error: type[UserError], message: str) -> None:
    with pytest.raises(error, match=message):
        pg.generate_code(pg.add_dtypes(pg.parse_kernel(_edited(old, new)), {"a": "int32"}))


def test_rules_come_before_instructions() -> None:
    text = str(kernel(TWO[0], "f(x) := a[x]\nout[i] = f(i)"))
    rule = "SUBSTITUTION RULES:\nf(x) := a[x]\n"
    moved = text.replace(rule, "") + "\n" + rule.replace("f(", "g(")
    with pytest.raises(MalformedText, match="comes after instructions"):
        pg.parse_kernel(moved)


def test_an_invocation_has_to_say_what_the_inames_are() -> None:
    knl = kernel(TWO[0], "f(x) := a[x] + i\nout[i] = f(i)")

    @pg.transformation
    def broken(knl: Kernel) -> Kernel:
        (insn,) = knl.instructions
        use = ex.Invocation("f", None, (ex.Variable("i"),), (), ())
        return knl.copy(instructions=(insn.copy(expression=use),))

    with pytest.raises(UnknownName, match="'f\\(i\\)' does not say what 'i' is in rule 'f'"):
        broken(knl)


def test_an_analysis_that_sees_an_invocation_says_so() -> None:
    knl = kernel(TWO[0], "f(x) := a[x]\nout[i] = f(i)")
    with pytest.raises(InternalError, match="before it is expanded"):
        references(knl.instructions[0])


def test_a_step_that_forgets_the_rules_is_refused() -> None:
    knl = kernel(TWO[0], "f(x) := a[x] + i\nout[i] = f(i)")

    @pg.transformation
    def forget(knl: Kernel) -> Kernel:
        return knl.copy(substitutions=())

    with pytest.raises(UnknownRule, match="no rule 'f'"):
        forget(knl)
