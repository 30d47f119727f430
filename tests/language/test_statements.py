"""Instructions as text: what each line says by itself."""

from __future__ import annotations

import numpy as np
import pytest

from polygen.errors import MalformedInstruction, PolygenError, UnknownIname
from polygen.ir import expression as ex
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_statement, split_lines
from polygen.language.reductions import resolve_reductions

x, i, j = (ex.Variable(name) for name in "xij")


# --- lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n  \n# nothing but a remark\n", []),
        ("a[i] = 1", ["a[i] = 1"]),
        ("a[i] = 1 # one\n\n  # two\nb[i] = 2\n", ["a[i] = 1 # one", "b[i] = 2"]),
        ("a[i] = f(1,\n  2)\nb[i] = 3", ["a[i] = f(1,\n  2)", "b[i] = 3"]),
        ("a[i] = (1 # (((\n + 2)\nb[i] = 3", ["a[i] = (1 # (((\n + 2)", "b[i] = 3"]),
        ("a[\n\ni] = 1", ["a[\n\ni] = 1"]),
        ("a[i] = (1\nb[i] = 2", ["a[i] = (1\nb[i] = 2"]),
        ("a[i] = 1)\nb[i] = 2", ["a[i] = 1)", "b[i] = 2"]),
        ("a[i] = 1 {id=a,\n dep=b}", ["a[i] = 1 {id=a,\n dep=b}"]),
    ],
)
def test_lines(text: str, lines: list[str]) -> None:
    assert [line for _, line in split_lines(text)] == lines


# --- the parts of a line


def test_plain() -> None:
    statement = parse_statement("  x[i, j] = 2*i ")
    assert statement.assignees == (ex.Subscript(x, (i, j)),)
    assert statement.values == (ex.Product((2, i)),)
    assert statement.text == "x[i, j] = 2*i"
    assert (statement.id, statement.inames) == (None, None)
    assert (statement.dependencies, statement.exhaustive) == ((), False)
    assert (statement.predicates, statement.declared) == ((), ())


def test_options() -> None:
    statement = parse_statement("x[i] = 1 {if=i < j and j != 2, id=one, if=i == 0, inames=i:j}")
    assert statement.id == "one"
    assert statement.inames == frozenset(("i", "j"))
    assert [show_expression(p) for p in statement.predicates] == ["i < j and j != 2", "i == 0"]


@pytest.mark.parametrize(
    ("option", "dependencies", "exhaustive"),
    [
        ("dep=a", ("a",), False),
        ("dep=a:b_2", ("a", "b_2"), False),
        ("dep=load_*:?", ("load_*", "?"), False),
        ("dep=a,b_2", ("a", "b_2"), False),
        ("dep=a, load_* : c, priority=1", ("a", "load_*", "c"), False),
        ("dep=a, atomic", ("a",), False),
        ("dep=a, dep=*b", ("a", "b"), True),
        ("dep=*", (), True),
        ("dep=*a:b", ("a", "b"), True),
        ("dep=", (), False),
    ],
)
def test_dependencies(option: str, dependencies: tuple[str, ...], exhaustive: bool) -> None:
    statement = parse_statement(f"x[i] = 1 {{id=insn, {option}}}")
    assert (statement.dependencies, statement.exhaustive) == (dependencies, exhaustive)


@pytest.mark.parametrize(
    ("text", "inames"),
    [
        ("[i] x[i] = 1", {"i"}),
        ("[i, j] x[i] = 1", {"i", "j"}),
        ("[] x[i] = 1", set()),
        ("x[i] = 1 {inames=}", set()),
        ("x[i] = 1 {}", None),
    ],
)
def test_inames(text: str, inames: set[str] | None) -> None:
    assert parse_statement(text).inames == inames


def test_declarations() -> None:
    assert parse_statement("<> x = 1").declared == (("x", None),)
    assert parse_statement("<float64> x = 1").declared == (("x", np.dtype(np.float64)),)
    assert parse_statement("[i] <int8> x[i] = 1").declared == (("x", np.dtype(np.int8)),)
    both = parse_statement("<> x, y, <int8> z = 1, 2, 3").declared
    assert both == (("x", None), ("z", np.dtype(np.int8)))


def test_several_assignees() -> None:
    statement = parse_statement("x[i], y = y, x[i] + 1 {id=swap}")
    assert [show_expression(a) for a in statement.assignees] == ["x[i]", "y"]
    assert [show_expression(v) for v in statement.values] == ["y", "x[i] + 1"]
    assert statement.id == "swap"


def test_results_of_one_call() -> None:
    call = ex.Call(ex.Variable("f"), (x,))
    assert parse_statement("y, i = f(x)").values == (ex.Component(call, 0), ex.Component(call, 1))
    assert parse_statement("y = f(x)[1]").values == (ex.Component(call, 1),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x += i", "x + i"),
        ("x -= i", "x - i"),
        ("x -= 2", "x - 2"),
        ("x *= i + 1", "x*(i + 1)"),
        ("x /= i*j", "x/(i*j)"),
        ("x += i + j", "x + (i + j)"),
        ("x //= i + j", "x//(i + j)"),
        ("x %= i*j", "x % (i*j)"),
        ("x <<= i + 1", "x << i + 1"),
        ("x >>= i", "x >> i"),
        ("x &= i | j", "x & (i | j)"),
        ("x |= i & j", "x | i & j"),
        ("x ^= i", "x ^ i"),
    ],
)
def test_updates(text: str, value: str) -> None:
    assert show_expression(parse_statement(text).values[0]) == value


# --- reductions


@pytest.mark.parametrize(
    ("text", "is_reduction"),
    [
        ("out[i] = min(k, a[i, k])", True),
        ("out[i] = min(i, a[i])", False),
        ("out[i] = min(k, a[k]) + k", False),
        ("out[i] = min(k, a[k]) {if=k > 2}", False),
        ("out[k] = min(k, 5)", False),
        ("out[0] = min(k, 5)", True),
        ("out[i] = min(k, 5) {inames=i:k}", False),
        ("[i, k] out[i] = min(k, 5)", False),
        ("out[i] = min(k, a[k]) {inames=i}", True),
        ("out[i] = min(i + 0, a[i])", False),
        ("out[i] = min(n, i)", False),
        ("out[i] = min(k, a[k], 3)", False),
        ("out[i] = min((k,), a[k])", True),
        ("out[i] = min((i, k), a[k])", True),
    ],
)
def test_reduction_or_smaller_value(text: str, is_reduction: bool) -> None:
    expression = resolve_reductions(parse_statement(text), {"i", "k"}).values[0]
    if isinstance(expression, ex.Sum):
        expression = expression.children[0]
    assert isinstance(expression, ex.Reduction if is_reduction else ex.Min)


def test_a_value_inside_of_a_reduction() -> None:
    text = "out[i] = sum(k, max(k, a[k])) + max(j, min(j, b[j])) + max(j, 2)"
    expression = resolve_reductions(parse_statement(text), {"i", "j", "k"}).values[0]
    a_k, b_j, k = (
        ex.Subscript(ex.Variable("a"), ex.Variable("k")),
        ex.Subscript(ex.Variable("b"), j),
        ex.Variable("k"),
    )
    assert expression == ex.Sum(
        (
            ex.Reduction("sum", ("k",), ex.Max((k, a_k))),
            ex.Reduction("max", ("j",), ex.Min((j, b_j))),
            ex.Reduction("max", ("j",), 2),
        )
    )


# --- errors: the message, the column of the caret, the remedy

MALFORMED = [
    ("a[i]", "found the end where ',' or '='", 4, ""),
    ("= 2", "found '=' where", 0, ""),
    ("a[i] =", "found the end where a name or a number", 6, ""),
    ("2 = a", "found '2' where", 0, ""),
    ("f(i) = a", "found '=' where '{' or the end", 5, "write a[i]"),
    ("a[i] + 1 = b[i]", "found '+' where ',' or '='", 5, ""),
    ("a[i] == b[i]", "found '=", 5, "written with '='"),
    ("a[i] := b[i]", "found ':'", 5, "written with '='"),
    ("a[i] <- 2*b[i]", "found '<'", 5, "written with '='"),
    ("a[i] = b[i] = c[i]", "found '='", 12, "one assignment a line"),
    ("a[i] = b[i]; c[i] = 2", "found ';'", 11, "one instruction a line"),
    ("a(i) = b[i]", "found '=' where", 5, "write a[i]"),
    ("f(x = 2*x", "found the end where ')' or ','", 9, "close the bracket"),
    ("a[i] **= 2", "found '*'", 5, "a[i]**2"),
    ("a[i]++", "found '+'", 4, "a[i] += 1"),
    ("... code(i) out[i] = 1; writes(out)", "found 'out'", 12, "quotes"),
    ("a[i = b[i]", "found '='", 4, ""),
    ("a[i][j] = 2", "found '['", 4, "a[i, j]"),
    ("<float13> t = 1", "'float13' is no element type", 1, "float"),
    ("<> t += 1", "before it has a value", 5, "leave out <>"),
    ("<float32 t = 1", "found 't' where '>'", 9, ""),
    ("a[i] = 1 {", "found the end where '}' or an option", 10, ""),
    ("a[i] = 1 {name=x}", "found 'name' where '}' or an option (id=, dep=, inames=, ...)", 10, ""),
    ("a[i] = 1 {id}", "found '}' where '='", 12, ""),
    ("a[i] = 1 {id=}", "found '}' where a name", 13, ""),
    ("a[i] = 1 {id=2}", "found '2' where a name", 13, ""),
    ("a[i] = 1 {id=x id=y}", "found 'id'", 15, ""),
    ("a[i] = 1 {id=x, id=y}", "there are two options id=", 19, ""),
    ("a[i] = 1 {tags=x, tags=y}", "there are two options tags=", 23, ""),
    ("a[i] = 1 {dep=x,y=z}", "found 'y' where an option", 16, ""),
    ("a[i] = 1 {inames=i,j}", "found 'j' where an option", 19, ""),
    ("a[i] = 1 {if=}", "found '}' where a name or a number", 13, ""),
    ("a[i] = 1 {if=i<2<j}", "comparisons cannot be chained", 16, ""),
    ("a[i] = 1 {id=x} {id=y}", "found '{' where the end", 16, ""),
    ("[i] a[i] = 1 {inames=i}", "the inames are given twice", 0, ""),
    ("[i a[i] = 1", "found 'a' where", 3, ""),
    ("for i", "found 'i'", 4, ""),
    ("a[i] = 2 * * 3", "found '*'", 11, ""),
    ("a[i] = b[i] +", "found the end", 13, ""),
    ("a[i] = if = 3", "found '=' where '('", 10, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "what", "column", "remedy"), MALFORMED, ids=[m[0] for m in MALFORMED]
)
def test_malformed(text: str, what: str, column: int | None, remedy: str) -> None:
    with pytest.raises(MalformedInstruction) as caught:
        parse_statement(text)
    assert what in caught.value.what
    assert remedy in (caught.value.remedy or "")
    if column is not None:
        assert (caught.value.excerpt or "").split("\n") == [text.strip(), " " * column + "^"]


def test_caret_below_the_line_that_is_wrong() -> None:
    with pytest.raises(MalformedInstruction) as caught:
        parse_statement("a[i] = f(b[i],\n         c[i] d[i])")
    assert (caught.value.excerpt or "").split("\n") == ["c[i] d[i])", "     ^"]


@pytest.mark.parametrize(
    ("text", "kind", "what", "column"),
    [
        ("a[i] = 2 + sum(q, b[q])", UnknownIname, "sum() runs over 'q'", 15),
        ("a[i] = product((k, q), b[q])", UnknownIname, "product() runs over 'q'", 19),
        ("a[i] = sum(k, sum(k, b[k]))", MalformedInstruction, "over 'k' is inside of another", 11),
    ],
)
def test_impossible_reductions(text: str, kind: type[PolygenError], what: str, column: int) -> None:
    with pytest.raises(kind) as caught:
        resolve_reductions(parse_statement(text), {"i", "k"})
    assert what in caught.value.what
    assert (caught.value.excerpt or "").split("\n") == [text, " " * column + "^"]
