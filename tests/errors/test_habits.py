"""What people write who think of Python, C or isl: what is said, where, and what would work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e

LINE = "{ [i]: 0<=i<n }"

# What is written; the class; a part of the reason; what the caret points at; a part of the remedy.
TEXTS: list[tuple[str, type[pg.UserError], str, str, str]] = [
    ("for i in range(n)\nout[i]=1\nend", e.MalformedInstruction, "'in'", "in", "write 'for i':"),
    ("for (i=0; i<n; i++)\nout[i]=1\nend", e.MalformedInstruction, "'('", "(i", "write 'for i':"),
    ("out[i] = (a[i] + 1", e.MalformedInstruction, "the end", "", "'(a[i] + 1' begins with: ')'"),
    ("out[i] = (a[i]\nb[i] = 2", e.MalformedInstruction, "'b'", "b[i]", "'(a[i]' begins with"),
    ("out[i] = a[i][0]", e.MalformedInstruction, "'['", "[0]", "write a[i, j] for a[i][j]"),
    ("out[i] = a[0:i]", e.MalformedInstruction, "':'", ":i]", "there are no slices"),
    ("out[i] == 1", e.MalformedInstruction, "'='", "== 1", "written with '='"),
    ("if a[i] = 1\nout[i] = 2\nend", e.MalformedInstruction, "'='", "= 1", "written '=='"),
    ("out[i] = a[i] > 1 && i > 2", e.MalformedInstruction, "'&'", "& i", "write 'and'"),
    ("out[i] = a[i] || i", e.MalformedInstruction, "'|'", "| i", "write 'or'"),
    ("out[i] = !a[i]", e.MalformedInstruction, "'!'", "!a", "write 'not'"),
    ("int t = 2\nout[i] = t", e.MalformedInstruction, "'t'", "t = 2", "write '<> t = ...'"),
    ("float t = 2\nout[i] = t", e.MalformedInstruction, "'t'", "t = 2", "'<float32> t = ...'"),
    ("out[i] = 1 {deps=b}", e.MalformedInstruction, "'deps'", "deps", "did you mean 'dep='?"),
    ("out[i] = 1 {tag=b}", e.MalformedInstruction, "'tag'", "tag", "did you mean 'tags='?"),
    ("out[i] = 1 {if i > 2}", e.MalformedInstruction, "'i'", "i > 2", "write {if=condition}"),
    ("out[i] = 1 {dep:b}", e.MalformedInstruction, "':'", ":b", "name=value"),
    ("out[i] = 1 {id=}", e.MalformedInstruction, "'}'", "}", "say a value"),
    ("if i > 2\nout[i] = 1\nelseif i\nend", e.MalformedInstruction, "'i'", "i", "write 'elif'"),
    ("if i > 2\nout[i] = 1\nendif", e.MalformedInstruction, "the end", "", "closed by 'end'"),
    ("for i\nout[i] = 1\nend for", e.MalformedInstruction, "'for'", "for", "'end' alone"),
    ("if (i > 2) {\nout[i] = 1\n}", e.MalformedInstruction, "'{'", "{", "opened without '{'"),
    (
        "out[0] = sum(a[i] for i in range(n))",
        *(e.MalformedInstruction, "'for'", "for i", "write the iname first: sum(i, a[i])"),
    ),
    ("/* x */ out[i] = 1", e.MalformedInstruction, "'/'", "/*", "begins with '#'"),
    ("out[i] = true", e.ReservedName, "'true'", "true", "write True"),
    ("out[i] = a[while]", e.ReservedName, "'while'", "while", "another name, such as 'while_'"),
    ("f(x) := 2*x\nout[i] = f[i]", e.NameTaken, "is a substitution rule", "f[i]", "write f(x)"),
    ("b[i] = i {conflicts=h}", e.UnknownName, "group 'h'", "h}", "groups=h"),
    (
        "b[i] = i {groups=heap}\nc[i] = 1 {conflicts=help}",
        e.UnknownName,
        "'help'",
        "help",
        "'heap'",
    ),
]


@pytest.mark.parametrize(("text", "kind", "why", "marked", "remedy"), TEXTS)
def test_texts(text: str, kind: type[pg.UserError], why: str, marked: str, remedy: str) -> None:
    with pytest.raises(kind) as caught:
        pg.make_kernel(LINE, text)
    error = caught.value
    assert type(error) is kind
    assert why in error.what
    line, below = str(error.excerpt).splitlines()[-2:]
    assert line[below.index("^") :].startswith(marked)
    assert remedy in str(error.remedy)


@pytest.mark.parametrize(
    ("domain", "marked", "remedy"),
    [
        ("0<=i<n", "0<=", "write inames and braces, too"),
        ("{ i: 0<=i<n }", "i:", "inames stand in brackets"),
        ("{ [i]: i in range(n) }", "in range", "write '0 <= i < n' for 'i in range(n)'"),
    ],
)
def test_domains(domain: str, marked: str, remedy: str) -> None:
    with pytest.raises(e.MalformedDomain) as caught:
        pg.make_kernel(domain, "out[i] = 1")
    line, below = str(caught.value.excerpt).splitlines()[-2:]
    assert line[below.index("^") :].startswith(marked)
    assert remedy in str(caught.value.remedy)


def test_a_power() -> None:
    with pytest.raises(e.TypeMismatch) as caught:
        generated("out[i] = a[i]^2", a=np.float32)
    assert caught.value.remedy == "a power is written '**'"


def test_a_loop_that_nothing_is_in() -> None:
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", "out[i] = a[i]")
    assert knl.inames == ("i", "j")
    np.testing.assert_array_equal(knl(a=np.arange(3.0))[1][0], np.arange(3.0))
    assert pg.remove_unused_inames(knl).inames == ("i",)


def test_what_is_said_to_be_right_is() -> None:
    """The remedies above, followed."""
    text = """
    for i
        <float32> t = (a[i] + 1 if a[i] > 1 and not i == 2 or i > 4 else a[i]**2)  {id=b}
        if i > 2 and True
            out[i] = f(t)  {dep=b, tags=b, groups=heap, if=i > 3}
        end
    end
    f(x) := 2*x
    """
    knl = pg.make_kernel(LINE, text)
    a = np.arange(7, dtype=np.float32)
    _, (out,) = knl(a=a, out=np.zeros(7, np.float32))
    i = np.arange(7)
    t = np.where(((a > 1) & (i != 2)) | (i > 4), a + 1, a**2)
    np.testing.assert_array_equal(out, np.where(i > 3, 2 * t, 0))


def generated(text: str, domain: str = LINE, **dtypes: Any) -> object:
    return pg.generate_code(pg.add_dtypes(pg.make_kernel(domain, text), dtypes))


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("summ(i, a[i])", "'sum'"), ("prod(i, a[i])", "'product'"), ("sqr(a[0])", "'sqrt'")],
)
def test_functions_that_are_reductions(wrong: str, meant: str) -> None:
    with pytest.raises(e.UnknownFunction) as caught:
        generated(f"out[0] = {wrong}", a=np.float32)
    assert str(caught.value.remedy).startswith(f"did you mean {meant}")
    assert f"-> [{'i' if 'i' in wrong else ''}] out[0] = {wrong}" in str(caught.value.excerpt)


def test_a_name_that_is_no_iname() -> None:
    with pytest.raises(e.OutOfBounds) as caught:
        pg.make_kernel(LINE, "out[k] = 1")
    assert "'k' is no iname, but a scalar argument" in str(caught.value.remedy)
    assert "the inames are i" in str(caught.value.remedy)
    knl = pg.make_kernel(LINE, "out[k] = 1", assumptions="k >= 0")
    assert "k" in knl.parameters
    knl = pg.make_kernel("{ [k]: 0 <= k < 4 }", "out[k] = 1")
    assert knl.inames == ("k",)


def test_a_number_that_does_not_fit_is_shown() -> None:
    with pytest.raises(e.LiteralOutOfRange) as caught:
        generated("out[i] = a[i] + 300", a=np.int8)
    assert caught.value.excerpt == "-> [i] out[i] = a[i] + 300  {id=insn}"
    assert "test_habits.py" in str(caught.value.where)
    assert "int64(300)" in str(caught.value.remedy)
    generated("out[i] = a[i] + int64(300)", a=np.int8)


def test_sizes_that_differ() -> None:
    knl = pg.make_kernel(LINE, "out[i] = a[i] + b[i]")
    with pytest.raises(e.SizeMismatch) as caught:
        knl(a=np.ones(3), b=np.ones(4))
    assert "declare GlobalArg('b', shape=...)" in str(caught.value.remedy)
    data = [pg.GlobalArg("b", shape="m"), "..."]
    knl = pg.make_kernel(LINE, "out[i] = a[i] + b[i]", data, assumptions="m >= n")
    _, (out,) = knl(a=np.ones(3), b=np.ones(4))
    np.testing.assert_array_equal(out, np.full(3, 2.0))


def test_too_many_and_too_few() -> None:
    for text, remedy in (("sqrt(a[i], 2)", "leave out"), ("atan2(a[i])", "give it what it lacks")):
        with pytest.raises(e.WrongArity) as caught:
            pg.make_kernel(LINE, f"out[i] = {text}")
        assert remedy in str(caught.value.remedy)


def test_isl_s_own_form_of_a_relation() -> None:
    """With the parameters in front, as isl prints maps."""
    text = "b[i] = 1  {id=b}\nc[i] = 2  {dep=b[%s{ [i] -> [i'] : i' = i }]}"
    assert pg.make_kernel(LINE, text % "[n] -> ") == pg.make_kernel(LINE, text % "")


def test_several_arguments_of_one_kind() -> None:
    data = [pg.GlobalArg("a, b", np.float32, shape="n"), pg.ValueArg("s,t", np.int8), "..."]
    knl = pg.make_kernel(LINE, "a[i] = s*b[i] + t", data)
    assert [(arg.name, str(arg.dtype)) for arg in knl.arguments] == [
        *(("a", "float32"), ("b", "float32"), ("s", "int8"), ("t", "int8"), ("n", "None")),
    ]
    with pytest.raises(e.NameTaken, match="'a' twice"):
        pg.make_kernel(LINE, "a[i] = 1", [pg.GlobalArg("a,a")])


@pytest.mark.parametrize(
    ("text", "condition", "needed"),
    [
        ("b[i-1]", "i>=1", False),  # an earlier iteration wrote it
        ("b[i]", "i>=1", False),
        ("b[i+1]", "i<n-1", True),  # a later one will
    ],
)
def test_arrays_that_a_call_may_leave_out(text: str, condition: str, needed: bool) -> None:
    knl = pg.make_kernel(LINE, f"b[i] = i\nc[i] = {text}  {{if={condition}}}")
    if needed:
        with pytest.raises(e.MissingArgument, match="'b', an array that it reads"):
            knl(n=5, c=np.zeros(5))
        return
    _, (b, c) = knl(n=5, c=np.zeros(5))
    np.testing.assert_array_equal(b, np.arange(5))
    np.testing.assert_array_equal(c, [0, 0, 1, 2, 3] if "-" in text else [0, 1, 2, 3, 4])


def test_python_s_integers_have_64_bits() -> None:
    """NumPy 2 gives them the arrays' type, if they fit: here, their values are not looked at."""
    knl = pg.make_kernel(LINE, "out[i] = alpha*a[i]")
    a = np.ones(3, np.int8)
    assert knl(a=a, alpha=2)[1][0].dtype == np.int64
    assert knl(a=a, alpha=np.int8(2))[1][0].dtype == np.int8
    assert pg.add_dtypes(knl, {"alpha": np.int8})(a=a, alpha=2)[1][0].dtype == np.int8
    assert knl(a=np.ones(3, np.float32), alpha=2.0)[1][0].dtype == np.float32
