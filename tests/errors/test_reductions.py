"""Programs with reductions and scans that must be rejected: each for its reason, at its place."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    DependencyCycle,
    LocalSizeNotConstant,
    MalformedInstruction,
    NameTaken,
    NoLoopNest,
    NotAScan,
    OutOfBounds,
    ReductionNotSequential,
    TypeMismatch,
    UninitializedRead,
    UnknownIname,
    UnusedReductionIname,
    UserError,
)

SQUARE = "{ [i,j]: 0<=i<n and 0<=j<n }"
TRIANGLE = "{ [i,j]: 0<=i<n and 0<=j<=i }"
BOTH = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]

# The domains, the instructions, the error, a part of its reason, and what the caret stands under,
# or is the marked line.
WRITTEN: list[tuple[str | list[str], str, type[UserError], str, str]] = [
    (SQUARE, "b[i] = sum(a[i,j])", MalformedInstruction, "an iname and an operand, not 1", "sum"),
    (SQUARE, "b[i] = sum(j, a[i,j], 2)", MalformedInstruction, "not 3 arguments", "sum"),
    (SQUARE, "b[i] = all()", MalformedInstruction, "not 0 arguments", "all"),
    (SQUARE, "b[i] = sum(2*j, a[i,j])", MalformedInstruction, "takes an iname first", "sum"),
    (SQUARE, "b[i] = any(a[i,j], j)", MalformedInstruction, "takes an iname first", "any"),
    (SQUARE, "b[i] = sum((j,k), (i,j))", MalformedInstruction, "takes an iname first", "sum"),
    (SQUARE, "b[0] = sum((i,j,i), a[i,j])", MalformedInstruction, "given an iname twice", "sum"),
    (SQUARE, "b[0] = sum([i,i], a[i,i])", MalformedInstruction, "given an iname twice", "sum"),
    (SQUARE, "b[0] = sum([2], 1)", MalformedInstruction, "found '2'", "2],"),
    (SQUARE, "b[0] = sum([i,2], 1)", MalformedInstruction, "found '2'", "2], 1"),
    (SQUARE, "b[0] = sin([i])", MalformedInstruction, "takes no tuple", "sin"),
    (SQUARE, "b[i] = sum(k, a[i,k])", UnknownIname, "sum() runs over 'k', which no domain", "k, a"),
    (SQUARE, "b[i] = 1 + all((j,kk), a[i,j])", UnknownIname, "over 'kk', which no", "kk)"),
    (SQUARE, "b[i] = sum(n, a[i,n])", UnknownIname, "sum() runs over 'n'", "n, a"),
    (
        SQUARE,
        "b[i] = sum(j, sum(j, a[i,j]))",
        MalformedInstruction,
        "inside of another one",
        "j, sum",
    ),
    (
        SQUARE,
        "b[i] = sum(j, 1 + max((i,j), a[i,j]))",
        MalformedInstruction,
        "'j' is inside",
        "j, 1",
    ),
    (
        SQUARE,
        "b[i] = sum<floot32>(j, a[i,j])",
        MalformedInstruction,
        "'floot32' is no element",
        "floot",
    ),
    (SQUARE, "b[i] = a<b>(j)", MalformedInstruction, "comparisons cannot be chained", ">"),
    (SQUARE, "b[i] = sin((i,j), 2)", MalformedInstruction, "sin() takes no tuple", "sin"),
    (SQUARE, "b[i] = min(a[i])", MalformedInstruction, "min() takes two or more operands", "min"),
    (SQUARE, "sum(j, b[j]) = 3", MalformedInstruction, "found '='", "= 3"),
    (SQUARE, "b[i] = sum(j, a[i,j]", MalformedInstruction, "found the end", ""),
    (SQUARE, "b[i] = sum j, a[i,j]", MalformedInstruction, "found 'j'", "j, a"),
    (SQUARE, "sum(x) := 2*x\nb[i] = sum(j, a[i,j])", NameTaken, "a function has this name", ""),
    (SQUARE, "any(x, y) := x + y\nb[i] = 1", UserError, "'any' has a meaning", ""),
    (SQUARE, "b[i] = a[i,j] + sum(j, a[i,j])", UserError, "'j'", ""),
    (SQUARE, "b[i] = sum(j, a[i,j])  {inames=i:j}", UserError, "'j'", ""),
    (
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "t = a[i,0]\nb[i] = sum(j, t*s[j])",
        UninitializedRead,
        "nothing has",
        "-> ",
    ),
    (BOTH, "b[i] = sum(j, a[j+1])", OutOfBounds, "a[1], which is outside of 'a'", "-> "),
    (TRIANGLE, "b[i] = sum(j, a[2*j])", OutOfBounds, "which is outside of 'a'", "-> "),
    (
        [*BOTH, "{ [k]: 0<=k<n }"],
        "f(x) := sum(j, x*a[j]*sum(k, a[k]))\nb[i] = f(2)\nc[j,k] = i_th(3)\n"
        "i_th(x) := sum(i, x*a[i])",
        NoLoopNest,
        "no loop nest has one loop an iname, those of reductions included",
        "-> ",
    ),
    (
        BOTH,
        "f(x) := sum(j, x*a[j])\nb[i] = f(1)\nc[i] = b[i] + f(2)",
        DependencyCycle,
        "a reduction would have to run in a loop, and before or after it",
        "-> ",
    ),
]


@pytest.mark.parametrize(("domains", "text", "kind", "why", "place"), WRITTEN)
def test_when_it_is_made(
    domains: str | list[str], text: str, kind: type[UserError], why: str, place: str
) -> None:
    data = [pg.GlobalArg("a", shape="n" if "a[j" in text or "a[2" in text else ("n", "n"))]
    if "s[j]" in text:
        data += [pg.TemporaryVariable("s", shape=4), pg.TemporaryVariable("t")]  # type: ignore[list-item]
    with pytest.raises(kind) as caught:
        pg.make_kernel(domains, text, [*data, "..."], silenced_warnings="AmbiguousNesting")
    shown = str(caught.value)
    assert why in caught.value.what
    assert "test_reductions.py" in shown
    assert "remedy: " in shown or why.startswith("found")  # an unknown mistake
    lines = [line.removeprefix("  | ") for line in shown.splitlines() if line.startswith("  | ")]
    if place == "-> ":
        assert any(line.startswith("-> ") for line in lines)
    elif place:
        (code, caret) = lines[:2]
        assert code[caret.index("^") :].startswith(place)


# The instruction, the type of what it reads, the error, and a part of its reason.
TYPES: list[tuple[str, str, type[UserError], str]] = [
    ("b[i] = max(j, a[i, j])", "complex64", TypeMismatch, "operand of type 'complex64'"),
    ("b[i] = sum<int8>(j, a[i, j])", "float32", TypeMismatch, "cannot compute in 'int8'"),
    ("b[i] = sum<uint8>(j, a[i, j])", "int32", TypeMismatch, "cannot compute in 'uint8'"),
    ("b[i] = any<int8>(j, a[i, j])", "int8", TypeMismatch, "cannot compute in 'int8'"),
    ("b[i] = min<complex64>(j, a[i, j])", "float32", TypeMismatch, "compute in 'complex64'"),
    ("b[i] = a[i, sum(j, a[i, j])]", "float32", TypeMismatch, "subscript of type 'float32'"),
    ("b[i] = sum(j, a[i, j]) & 1", "float64", TypeMismatch, "it is only there for integers"),
]


@pytest.mark.parametrize(("text", "dtype", "kind", "why"), TYPES)
def test_when_types_are_known(text: str, dtype: str, kind: type[UserError], why: str) -> None:
    data = [pg.GlobalArg("a", np.dtype(dtype), ("n", "n")), "..."]
    with pytest.raises(kind) as caught:
        pg.generate_code(pg.make_kernel(SQUARE, text, data))
    shown = str(caught.value)
    assert why in caught.value.what
    assert "test_reductions.py" in shown
    assert f"-> [i] {text}" in shown


# The domain, the instruction, what is done to it, the error, and a part of its reason.
LOWERED: list[tuple[str, str, dict[str, str], type[UserError], str]] = [
    (SQUARE, "b[i] = sum(j, a[j])", {"j": "g.0"}, ReductionNotSequential, "tagged g.0"),
    (SQUARE, "b[i] = sum(j, a[j])", {"j": "l.0"}, LocalSizeNotConstant, "reduces on l.0, along"),
    (SQUARE, "b[i] = 1 + any(j, a[j])", {"j": "g.1"}, ReductionNotSequential, "tagged g.1"),
    (TRIANGLE, "b[i] = sum(j, a[i])", {}, NotAScan, "what it reduces depends on 'i'"),
    (SQUARE, "b[i] = sum(j, a[j])", {}, NotAScan, "does not depend on a loop around it"),
    (TRIANGLE, "b[i] = sum(j, a[j])", {"i": "g.0"}, NotAScan, "'i', through which it would be"),
    (TRIANGLE, "b[i] = sum(j, b[j])", {}, NotAScan, "on 'b', which 'insn' writes in the loop of"),
    ("{ [i,j]: 0<=i<=j<n }", "b[i] = sum(j, a[j])", {}, NotAScan, "took, and then more"),
]


@pytest.mark.parametrize(("domain", "text", "tags", "kind", "why"), LOWERED)
def test_when_code_is_generated(
    domain: str, text: str, tags: dict[str, str], kind: type[UserError], why: str
) -> None:
    knl = pg.make_kernel(
        domain, text, [pg.GlobalArg("b", np.float32, "n"), "..."], silenced_warnings="ComputedAnew"
    )
    knl = pg.add_dtypes(knl, {"a": np.float32}) if "a[" in text else knl
    knl = pg.set_options(pg.tag_inames(knl, tags), force_scan=True)
    with pytest.raises(kind) as caught:
        pg.generate_code(knl)
    assert why in caught.value.what
    assert f"-> [i] {text}" in str(caught.value)
    assert "remedy: " in str(caught.value)


APART = "{ [i,j,k]: 0<=i<n and 0<=j<n and 0<=k<4 }"
ROWS = ["{ [i]: 0<=i<n }", "{ [k]: first<=k<last }"]

# The domains, the instructions, the reduction and the iname it does not depend on, and the line.
UNUSED: list[tuple[str | list[str], str, str, str, str]] = [
    (APART, "b[i] = sum(j, a[i])", "sum(j, a[i])", "j", "[i] b[i] = sum"),
    (APART, "b[i] = 2 + c[i]*product<int8>(j, n)", "product<int8>(j, n)", "j", "[i] b[i] = 2"),
    (APART, "b[0] = sum((i, k), c[i])", "sum((i, k), c[i])", "k", "[] b[0]"),
    (APART, "b[0] = max(i, sum(k, a[i]))", "sum(k, a[i])", "k", "[] b[0]"),
    (APART, "b[0] = max(k, sum(i, a[i]))", "max(k, sum(i, a[i]))", "k", "[] b[0]"),
    (APART, "b[0] = sum(j, sum(i, j))", "sum(i, j)", "i", "[] b[0]"),
    (APART, "b[i] = min(k, a[i])", "min(k, a[i])", "k", "[i] b[i]"),
    (APART, "b[i] = 1  {if=any(k, a[i] > 0)}", "any(k, a[i] > 0)", "k", "[i] b[i]"),
    (APART, "b[c[0] + sum(j, m)] = 1", "sum(j, m)", "j", "[] b[c[0]"),
    (APART, "v[0], p[0] = argmax(j, a[0], 1)", "argmax(j, a[0], 1)", "j", "[] v[0]"),
    (APART, "f(x) := sum(k, a[x])\nb[i] = f(i)", "sum(k, a[x])", "k", "f(x) := sum"),
    (APART, "f(x) := a[x]\nb[i] = sum(k, f(i))", "sum(k, f(i))", "k", "[i] b[i] = sum"),
    (APART, "f := a[i]\nb[i] = sum(k, f)", "sum(k, f(", "k", "[i] b[i] = sum"),
    (APART, "<> t = c[i]\nb[i] = sum(k, t)", "sum(k, t)", "k", "[i] b[i] = sum"),
    # Another instruction's iname is bounded by it.
    (
        ["{ [j]: 0<=j<n }", "{ [k]: 0<=k<=j }"],
        "b[0] = sum(j, c[0])\nd[j] = sum(k, c[k])",
        "sum(j, c[0])",
        "j",
        "[] b[0]",
    ),
]


@pytest.mark.parametrize(("domains", "text", "reduction", "iname", "line"), UNUSED)
def test_over_what_it_does_not_depend_on(
    domains: str | list[str], text: str, reduction: str, iname: str, line: str
) -> None:
    with pytest.raises(UnusedReductionIname) as caught, pg.without_proofs():
        pg.make_kernel(domains, text, silenced_warnings="AmbiguousNesting")
    error = caught.value
    assert error.what.startswith(f"'{reduction}")
    assert error.what.endswith(f"does not depend on '{iname}'")
    marked = [x for x in str(error.excerpt).splitlines() if x.startswith("-> ")]
    assert len(marked) == 1
    assert marked[0].removeprefix("-> ").startswith(line)
    assert "test_reductions.py" in str(error.where)
    assert f"sum({iname}, 1) is their number" in str(error.remedy)
    assert (f"{{+inames={iname}}}" in str(error.remedy)) == (reduction[:3] in ("min", "max"))


# What depends on it through something else, and what it is for a = [1, 2, ...], n = 3.
USED: list[tuple[str | list[str], str, list[float]]] = [
    (APART, "b[i] = sum(k, 1)", [4, 4, 4]),
    (APART, "b[i] = a[i]*sum(k, 2.5)", [10, 20, 30]),
    (APART, "f(x) := a[x]\nb[i] = sum(j, f(j))", [6, 6, 6]),
    (APART, "f := a[j]\nb[i] = sum(j, f)", [6, 6, 6]),
    (APART, "f(x) := a[i]\nb[i] = sum(k, f(k))", [4, 8, 12]),
    ("{ [i,j]: 0<=i<n and 0<=j<=i }", "b[i] = sum(j, a[i])", [1, 4, 9]),
    (["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[i] = sum(j, a[i])", [1, 4, 9]),
    ("{ [i,j,k]: 0<=i<n and 0<=k<=j<n }", "b[i] = sum((j, k), a[k])", [10, 10, 10]),
    (["{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<=j }"], "b[i] = sum((j, k), a[k])", [10, 10, 10]),
    (["{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<=j }"], "b[i] = sum(j, sum(k, a[k]))", [10, 10, 10]),
    (ROWS, "<> first = i\n<> last = 2*i\nb[i] = sum(k, a[i])", [0, 2, 6]),
]


@pytest.mark.parametrize(("domains", "text", "expected"), USED)
def test_over_what_it_depends_on(
    domains: str | list[str], text: str, expected: list[float]
) -> None:
    quiet = ("AmbiguousNesting", "UnusedIname")
    knl = pg.make_kernel(domains, text, silenced_warnings=quiet, assumptions="n >= 0")
    assert pg.parse_kernel(str(knl)) == knl
    given = {"a": np.arange(1, 4)} if "a[" in text else {"n": 3}
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(knl.executor(target)(**given)[1][-1], expected)


def test_what_is_read_is_written_in_its_loop() -> None:
    """Each of the values of `t` is added up, though nothing mentions `j`."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "t = a[i, j]  {id=t, inames=i:j}\nb[i] = sum(j, 2*t)  {inames=i, dep=t}",
        [pg.TemporaryVariable("t"), "..."],
    )
    a = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(knl(a=a)[1][0], 2 * a.sum(axis=1))


def test_steps_may_make_them_and_texts_have_them() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i] = sum(j, a[i] + 0*c[j])")
    text = str(knl).replace(" + 0*c[j]", "")
    read = pg.parse_kernel(text)
    assert pg.parse_kernel(str(read)) == read
    np.testing.assert_array_equal(read(a=np.array([1, 2]), c=np.zeros(3), m=3)[1][0], [3, 6])
    assert "parse_kernel" in pg.kernel_to_python(read)
    scope: dict[str, object] = {}
    exec(pg.kernel_to_python(read), scope)  # noqa: S102
    assert scope["knl"] == read


def test_there_are_enough() -> None:
    assert len(WRITTEN) + len(TYPES) + len(LOWERED) >= 40
