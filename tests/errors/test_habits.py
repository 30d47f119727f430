"""What people write who think of Python, C or isl: what is said, where, and what would work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e
from polygen.ir.options import TARGET_NAMES
from polygen.targets.languages.registry import TARGETS

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
    ("out[i] = 0b101", e.MalformedInstruction, "'b101'", "b101", "write such a number as 0x1f"),
    ("out[i] = 0o17 + 1", e.MalformedInstruction, "'o17'", "o17", "as 0x1f, or in digits"),
    ("out[i] = 1_000", e.MalformedInstruction, "'_000'", "_000", "numbers without '_'"),
    ("out[i] = a[i] <> 2", e.MalformedInstruction, "'>'", "> 2", "write '!='"),
    ("out[i] = a[i] @ 2", e.MalformedInstruction, "'@'", "@", "sum(k, a[i, k]*b[k, j])"),
    ("out[i] = lambda x: x", e.MalformedInstruction, "'x'", "x: x", "rules, f(x) := 2*x"),
    ("(a[i], b[i]) = 1, 2", e.MalformedInstruction, "'('", "(a[i]", "without parentheses"),
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
    with pytest.warns(pg.errors.UnusedIname, match="in the loop of 'j'"):
        np.testing.assert_array_equal(knl(a=np.arange(3.0))[1][0], np.arange(3.0))
    assert pg.remove_unused_inames(knl).inames == ("i",)


def test_what_is_said_to_be_right_is() -> None:
    """The remedies above, followed."""
    text = """
    for i
        with {conflicts=heap}
            <float32> t = (a[i] + 1 if a[i] > 1 and not i == 2 or i > 4 else a[i]**2)  {id=b}
        end
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


def test_a_comment_of_c() -> None:
    """One word behind ``//`` is a division, which only the call finds out."""
    for text in ("out[i] = a[i]  // twice", "out[i] = a[i] + 1 // twice"):
        knl = pg.make_kernel(LINE, text)
        with pytest.raises(e.MissingArgument, match="without 'twice'") as caught:
            knl(a=np.ones(3))
        assert "a comment begins with '#': # twice" in str(caught.value.remedy)
    knl = pg.make_kernel(LINE, "out[i] = a[i]  # twice")
    np.testing.assert_array_equal(knl(a=np.ones(3))[1][0], np.ones(3))
    with pytest.raises(e.MissingArgument) as caught:
        pg.make_kernel(LINE, "out[i] = a[i] * twice")(a=np.ones(3))
    assert caught.value.remedy == "pass twice=..."


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        *(("gid.0", "g.0"), ("l0", "l.0"), ("unrol", "unr"), ("unroll", "unr"), ("G.1", "g.1")),
        *(("group.2", "g.2"), ("local_0", "l.0"), ("lid.1", "l.1"), ("auto", "l.auto")),
        *(("lauto", "l.auto"), ("g.3", ""), ("ilp.0", ""), ("l.9", ""), ("", "")),
        *(("vec4", "vec"), ("ILP", "ilp")),
    ],
)
def test_tags_that_are_misspelt(tag: str, meant: str) -> None:
    knl = pg.make_kernel(LINE, "out[i] = a[i]", assumptions="n = 4")
    calls: tuple[Callable[[], object], ...] = (
        lambda: pg.tag_inames(knl, {"i": tag}),
        lambda: pg.split_iname(knl, "i", 4, inner_tag=tag),
    )
    for call in calls:
        with pytest.raises(e.InvalidArgument, match=f"'{tag}' is no iname tag") as caught:
            call()
        remedy = str(caught.value.remedy)
        assert remedy.startswith(f"did you mean '{meant}'? the tags" if meant else "the tags are")
        assert "test_habits.py" in str(caught.value.where)
    if meant:
        assert pg.tag_inames(knl, {"i": meant}).tags


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("flaot32", "float32"), ("Float64", "float64"), ("float 32", "float32")),
        *(("unsigned int", "uint32"), ("size_t", "uint64"), ("char", "int8")),
        *(("int32_t", "int32"), ("real*8", "float64"), ("long  long", "int64")),
        *(("U4", ""), ("text", ""), ("object", "")),
    ],
)
def test_types_that_are_misspelt(name: str, meant: str) -> None:
    knl = pg.make_kernel(LINE, "out[i] = a[i]*s")
    calls: tuple[Callable[[], object], ...] = (
        lambda: pg.add_dtypes(knl, {"a": name}),
        lambda: pg.make_kernel(LINE, "out[i] = a[i]", [pg.GlobalArg("a", name), "..."]),
        lambda: pg.make_kernel(LINE, "out[i] = a[i]*s", [pg.ValueArg("s", name), "..."]),
    )
    for call in calls:
        with pytest.raises(e.InvalidArgument, match="is no element type") as caught:
            call()
        remedy = str(caught.value.remedy)
        assert remedy.startswith(f"did you mean '{meant}'? use" if meant else "use a NumPy type")
    assert caught.value.what.startswith("the type of 's': ")
    if meant:
        assert pg.add_dtypes(knl, {"a": meant}).variables["a"].dtype == np.dtype(meant)


def test_types_of_c_and_of_numpy_that_are_the_same() -> None:
    """As NumPy has it: float is Python's, of 64 bits."""
    names = {"double": "f8", "float": "f8", "half": "f2", "short": "i2", "int": "i8", "long": "i8"}
    for name, meant in names.items():
        knl = pg.make_kernel(LINE, f"<{name}> t = a[i]\nout[i] = t")
        assert knl.variables["t"].dtype == np.dtype(meant)


@pytest.mark.parametrize(
    ("wrong", "remedy", "right"),
    [
        ("a[i].real", "write real(a[i])", "real(a[i])"),
        ("a[i].imag + 1", "write imag(a[i])", "imag(a[i]) + 1"),
        ("2*a[i].conj()", "write conj(a[i])", "2*conj(a[i])"),
        ("math.sin(a[i])", "write sin(...) without math.", "sin(a[i])"),
        ("numpy.exp(a[i])", "write exp(...) without numpy.", "exp(a[i])"),
        ("np.sqrt(a[i])", "write sqrt(...) without np.", "sqrt(a[i])"),
        ("a[i] + math.pi", "write the number: 3.141592653589793", "a[i] + 3.141592653589793"),
        ("np.pi*a[i]", "write the number: 3.141592653589793", "3.141592653589793*a[i]"),
        ("a[i].astype(float32)", "write float32(a[i])", "float32(a[i])"),
        ("a.T[i]", "the subscripts in the other order", "a[i]"),
        ("a.shape", "declare the array with a size", "n"),
        ("math.oddity(a[i])", "there is no 'math' in the language", "a[i]"),
        ("a[i].part", "names have no parts", "a[i]"),
        ("(a[i] + 1).real", "write real(x)", "real(a[i] + 1)"),
    ],
)
def test_names_with_parts(wrong: str, remedy: str, right: str) -> None:
    with pytest.raises(e.MalformedInstruction) as caught:
        pg.make_kernel(LINE, f"out[i] = {wrong}")
    assert remedy in str(caught.value.remedy)
    line, below = str(caught.value.excerpt).splitlines()
    assert line == f"out[i] = {wrong}"
    assert line[below.index("^") :].startswith((".", "np.", "*a[i]"))
    pg.make_kernel(LINE, f"out[i] = {right}")


def test_an_extent_that_is_negative() -> None:
    for subscript, variable in (
        ("0", pg.GlobalArg("a", np.float32, -3)),
        ("0, 0", pg.GlobalArg("a", np.float32, "4, -3")),
        ("0", pg.TemporaryVariable("a", np.float32, (-3,))),
    ):
        with pytest.raises(e.InvalidArgument, match="'a' has a negative extent, -3"):
            pg.make_kernel(LINE, f"a[{subscript}] = 1", [variable, "..."])
    pg.make_kernel("{ [i]: 0<=i<0 }", "out[i] = a[i]", [pg.GlobalArg("a", np.float32, 0), "..."])


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("fortran", "there are: c, cuda, opencl"), ("opencI", "did you mean 'opencl'?")],
)
def test_a_target_that_there_is_not(name: str, remedy: str) -> None:
    text = str(pg.make_kernel(LINE, "out[i] = 1", target="c"))
    calls: tuple[Callable[[], object], ...] = (
        lambda: pg.make_kernel(LINE, "out[i] = 1", target=name),
        lambda: pg.generate_code(pg.make_kernel(LINE, "out[i] = 1"), name),
        lambda: pg.parse_kernel(text.replace("TARGET: c", f"TARGET: {name}")),
    )
    for call in calls:
        with pytest.raises(e.UnknownTarget, match=f"there is no target '{name}'") as caught:
            call()
        assert caught.value.remedy == remedy
        assert "test_habits.py" in str(caught.value.where)
    assert tuple(TARGETS) == TARGET_NAMES


def test_shapes_without_commas() -> None:
    for variable in (pg.GlobalArg("t", np.int8, "n m"), pg.TemporaryVariable("t", np.int8, "2 3")):
        with pytest.raises(
            e.MalformedExpression, match=r"the shape of 't': found '[m3]'"
        ) as caught:
            pg.make_kernel(LINE, "t[0, 0] = 1", [variable, "..."])
        assert str(caught.value.remedy) == "separate them by commas, as in 'n, 2*m'"
        line, below = str(caught.value.excerpt).splitlines()
        assert line[below.index("^") :] in ("m", "3")


def test_an_iname_of_a_kernel_that_is_called() -> None:
    twice = pg.make_function("{ [k]: 0<=k<8 }", "y[k] = 2*x[k]", ["x", "y"])
    knl = pg.make_kernel(
        LINE,
        "[j]: out[i, j] = twice([j]: a[i, j])",
        [pg.GlobalArg("a", np.float32, "n, 8"), pg.GlobalArg("out", np.float32, "n, 8"), "..."],
        functions={"twice": twice},
    )
    program = pg.merge([knl])
    for given in (knl, program):
        step: Any
        for step, argument in ((pg.reverse, "k"), (pg.tag_inames, {"k": "unr"})):
            with pytest.raises(e.UnknownIname, match="has no iname 'k'") as caught:
                step(given, argument)
            assert "'twice', which it calls, has one" in str(caught.value.remedy)
            assert "test_habits.py" in str(caught.value.where)
    program = program.with_kernel(pg.split_iname(program["twice"], "k", 4))
    assert "k_inner" in program["twice"].inames
    inlined = pg.inline_callable_kernel(knl, "twice")
    assert pg.split_iname(inlined, "twice_k", 4).inames
