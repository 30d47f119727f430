"""Expressions: which nodes a text stands for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.errors import MalformedExpression, MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.language.parser import (
    parse_expression,
    parse_expressions,
    parse_rule,
    parse_statement,
)

a, b, c, d = (ex.Variable(name) for name in "abcd")


def minus(node: ex.ExpressionNode) -> Expression:
    return ex.Product((-1, node))


# Written by hand from Python's grammar.
MEANINGS: list[tuple[str, Expression]] = [
    # leaves
    ("a", a),
    ("12", 12),
    ("0x1F", 31),
    ("1.0", 1.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("1e-3", 0.001),
    ("2E2", 200.0),
    ("True", True),
    ("False", False),
    ("a[b]", ex.Subscript(a, b)),
    ("a[b, 1]", ex.Subscript(a, (b, 1))),
    ("id", ex.Variable("id")),
    ("iffy", ex.Variable("iffy")),
    # numbers with a sign are numbers
    ("-2", -2),
    ("- 2.5", -2.5),
    ("-(-2)", 2),
    ("+a", a),
    ("-a", minus(a)),
    ("--a", minus(ex.Product((-1, a)))),
    ("a - 1", ex.Sum((a, -1))),
    ("a - 1.0*b", ex.Sum((a, ex.Product((-1, ex.Product((1.0, b))))))),
    ("-2*a", ex.Product((-2, a))),
    ("-1*2", ex.Product((-1, 2))),
    # flat as written, and only so
    ("a + b + c", ex.Sum((a, b, c))),
    ("(a + b) + c", ex.Sum((ex.Sum((a, b)), c))),
    ("a + (b + c)", ex.Sum((a, ex.Sum((b, c))))),
    ("a - b - c", ex.Sum((a, ex.Product((-1, b)), ex.Product((-1, c))))),
    ("a - (b - c)", ex.Sum((a, ex.Product((-1, ex.Sum((b, ex.Product((-1, c))))))))),
    ("a*b*c", ex.Product((a, b, c))),
    ("(a*b)*c", ex.Product((ex.Product((a, b)), c))),
    ("1 + 2", ex.Sum((1, 2))),
    ("0*a", ex.Product((0, a))),
    # from left to right
    ("a/b/c", ex.Quotient(ex.Quotient(a, b), c)),
    ("a*b/c*d", ex.Product((ex.Quotient(ex.Product((a, b)), c), d))),
    ("a//b % c", ex.Remainder(ex.FloorDiv(a, b), c)),
    ("a << b >> c", ex.RightShift(ex.LeftShift(a, b), c)),
    # precedence
    ("a + b*c", ex.Sum((a, ex.Product((b, c))))),
    ("-a*b", ex.Product((ex.Product((-1, a)), b))),
    ("-a**2", minus(ex.Power(a, 2))),
    ("-2**a", minus(ex.Power(2, a))),
    ("(-2)**a", ex.Power(-2, a)),
    ("a**-1", ex.Power(a, -1)),
    ("a**b**c", ex.Power(a, ex.Power(b, c))),
    ("a | b ^ c & d", ex.BitwiseOr((a, ex.BitwiseXor((b, ex.BitwiseAnd((c, d))))))),
    ("~a + b", ex.Sum((ex.BitwiseNot(a), b))),
    ("a & b == c", ex.Comparison(ex.BitwiseAnd((a, b)), "==", c)),
    ("a << 1 + b", ex.LeftShift(a, ex.Sum((1, b)))),
    ("a < b and not c or d", ex.LogicalOr((
        ex.LogicalAnd((ex.Comparison(a, "<", b), ex.LogicalNot(c))), d,
    ))),
    ("not a == b", ex.LogicalNot(ex.Comparison(a, "==", b))),
    ("(a < b) < c", ex.Comparison(ex.Comparison(a, "<", b), "<", c)),
    # choices and calls
    ("if(a, b, c)", ex.If(a, b, c)),
    ("b if a else c", ex.If(a, b, c)),
    ("b if (a) else c", ex.If(a, b, c)),
    ("a if b else c if d else 0", ex.If(b, a, ex.If(d, c, 0))),
    ("min(a, b)", ex.Min((a, b))),
    ("max(a, b, 3)", ex.Max((a, b, 3))),
    ("f()", ex.Call(ex.Variable("f"), ())),
    ("pow(a, b,)", ex.Call(ex.Variable("pow"), (a, b))),
    ("sum(i, a)", ex.Reduction("sum", ("i",), a)),
    ("product((i, j), a)", ex.Reduction("product", ("i", "j"), a)),
    ("max((i, j,), a)", ex.Reduction("max", ("i", "j"), a)),
    # layout
    (" a\n + # a remark\n b", ex.Sum((a, b))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_text_stands_for_nodes(text: str, expected: Expression) -> None:
    # By their text: 1 == 1.0 == True in Python.
    assert repr(parse_expression(text)) == repr(expected)


@pytest.mark.parametrize(("text", "expected"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_what_is_shown_reads_back(text: str, expected: Expression) -> None:
    assert repr(parse_expression(show_expression(expected))) == repr(expected), text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a-1", "a - 1"),
        ("a + -2.5", "a - 2.5"),
        ("-1.0*a", "-1.0*a"),
        ("a+(-b)", "a - b"),
        ("-2 *a", "-2*a"),
        ("(-2)**a", "(-2)**a"),
        ("(a*b)/c", "a*b/c"),
    ],
)
def test_it_is_shown_as_one_would_write_it(text: str, shown: str) -> None:
    assert show_expression(parse_expression(text)) == shown


def test_list_of_expressions() -> None:
    assert parse_expressions("n, 2*m,") == (
        ex.Variable("n"),
        ex.Product((2, ex.Variable("m"))),
    )
    assert parse_expressions("") == ()


@pytest.mark.parametrize(
    ("text", "what", "column", "remedy"),
    [
        ("", "found the end where a name or a number", 0, ""),
        ("a +", "found the end where a name or a number", 3, ""),
        ("(a + b", "found the end where ')'", 6, ""),
        ("a)", "found ')' where the end", 1, ""),
        ("a b", "found 'b' where an operator", 2, ""),
        ("2a", "found 'a'", 1, "write '*'"),
        ("2fa", "found 'fa'", 1, "write '*'"),
        ("a;", "found ';'", 1, "leave it out"),
        ("a; b", "found ';'", 1, "one instruction a line"),
        ("(a)(b)", "found '('", 3, "write '*'"),
        ("a < b < c", "comparisons cannot be chained", 6, "a < b and b < c"),
        ("a == b != c", "comparisons cannot be chained", 7, ""),
        ("a[i][j]", "found '['", 4, "a[i, j]"),
        ("a[]", "found ']' where a name or a number", 2, ""),
        ("a && b", "found '&'", 3, "write 'and'"),
        ("a || b", "found '|'", 3, "write 'or'"),
        ("!a", "found '!'", 0, "write 'not'"),
        ("a ? b : c", "found '?'", 2, "a if c else b"),
        ("'text'", "found '''", 0, "no strings"),
        ("a @ b", "found '@'", 2, ""),
        ("a.b", "found '.'", 1, "names have no parts"),
        ("1e999", "1e999 is larger", 0, ""),
        ("a if b", "found the end where 'else'", 6, ""),
        ("if(a, b)", "found ')' where ','", 7, ""),
        ("2*f(a=1)", "'f(a=1)' invokes a substitution rule", 2, "what it stands for"),
        ("f$t(a)", "'f$t(a)' invokes a substitution rule", 0, ""),
        ("(a, b)", "found ','", 2, ""),
        ("f((i, j), a)", "f() takes no tuple", 0, ""),
        ("2 + min(a)", "min() takes two or more operands", 4, ""),
        ("sum(i)", "sum() takes an iname and an operand", 0, "sum(k, a[k])"),
        ("sum(i, a, b)", "not 3 arguments", 0, ""),
        ("sum(2, a)", "sum() takes an iname first", 0, ""),
        ("sum(a[i], b)", "sum() takes an iname first", 0, ""),
        ("a*max((i, j), (k, l))", "max() takes an iname first", 2, ""),
        ("sum((i, i), a)", "sum() is given an iname twice", 0, ""),
    ],
)
def test_malformed(text: str, what: str, column: int, remedy: str) -> None:
    with pytest.raises(MalformedExpression) as caught:
        parse_expression(text)
    assert what in caught.value.what
    assert remedy in (caught.value.remedy or "")
    assert (caught.value.excerpt or "").split("\n") == [text, " " * column + "^"]


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "a" + " + 1)" * n,
    "signs": lambda n: "-" * n + "a",
    "negations": lambda n: "not " * n + "a",
    "powers": lambda n: "a" + "**2" * n,
    "quotients": lambda n: "a" + "/2" * n,
    "subscripts": lambda n: "a[" * n + "0" + "]" * n,
    "choices": lambda n: "if(i > 1, " * n + "a" + ", 1)" * n,
    "calls": lambda n: "sqrt(" * n + "a" + ")" * n,
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("n", [101, 350, 1000])
def test_nested_too_deep(name: str, n: int) -> None:
    text = NESTED[name](n)
    with pytest.raises(MalformedExpression, match="an expression is nested more than 100 deep"):
        parse_expression(text)
    with pytest.raises(MalformedInstruction, match="an expression is nested more than 100 deep"):
        parse_statement(f"b[i] = {text}")
    with pytest.raises(MalformedInstruction, match="an expression is nested more than 100 deep"):
        parse_rule(f"f(a) := {text}")


@pytest.mark.parametrize("name", NESTED)
def test_nested_as_deep_as_may_be(name: str) -> None:
    """Whatever is done with it later is safe, too: see below."""
    assert parse_expression(NESTED[name](96))


@pytest.mark.parametrize("name", ["parentheses", "signs", "powers", "quotients", "choices"])
def test_a_kernel_of_deep_expressions(name: str) -> None:
    text = NESTED[name](96).replace("a", "a[i]").replace(", 1)", ", 1.0)")
    data = [pg.GlobalArg("a", "float64", "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"b[i] = {text}", data)
    knl = pg.prioritize_loops(pg.split_iname(knl, "i", 4, inner_tag="unr"), "i_outer, i_inner")
    assert pg.parse_kernel(str(knl)) == knl
    assert "b[" in str(pg.generate_code(knl, "c"))


def test_parentheses_alone_nest_nothing() -> None:
    assert parse_expression("(" * 5000 + "a" + ")" * 5000) == parse_expression("a")
