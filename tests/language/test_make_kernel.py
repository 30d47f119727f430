"""Whole kernels from text: arguments, shapes, the printed form, errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from polygen.errors import (
    InvalidArgument,
    MalformedInstruction,
    MalformedKernel,
    MalformedLayout,
    NameTaken,
    PolygenError,
    ReservedName,
    ShapeNotFound,
    UndeclaredVariable,
    UnknownIname,
    UnknownName,
    UserError,
)
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel

LINE = "{ [i]: 0<=i<n }"


def arguments(kernel: Kernel) -> dict[str, str]:
    return {a.name: type(a).__name__ for a in kernel.arguments}


def shape_of(kernel: Kernel, name: str) -> tuple[Any, ...]:
    shape = kernel.array(name).shape
    assert shape is not None
    return shape


# --- the printed form


def test_the_paper_s_first_kernel() -> None:
    # Section 2.1; polygen says strides where Loo.py says dim_tags.
    assert str(make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")) == "\n".join(
        [
            "-" * 75,
            "KERNEL: polygen_kernel",
            "-" * 75,
            "ARGUMENTS:",
            "a: GlobalArg, type: <runtime>, shape: (n), strides: <runtime>",
            "n: ValueArg, type: <runtime>",
            "out: GlobalArg, type: <runtime>, shape: (n), strides: <runtime>",
            "-" * 75,
            "DOMAINS:",
            "[n] -> { [i] : 0 <= i < n }",
            "-" * 75,
            "INSTRUCTIONS:",
            "[i] out[i] = 2*a[i]  {id=insn}",
            "-" * 75,
        ]
    )


def test_the_paper_s_transposition() -> None:
    # Section 2.3
    kernel = make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j,i] = a[i,j] {id=transpose}
        out[ii,jj] = 2*out[ii,jj] {dep=transpose}
        """,
    )
    lines = str(kernel).splitlines()
    assert lines[lines.index("DOMAINS:") + 1 :] == [
        "[n] -> { [i] : 0 <= i < n }",
        "[n] -> { [j] : 0 <= j < n }",
        "[n] -> { [ii] : 0 <= ii < n }",
        "[n] -> { [jj] : 0 <= jj < n }",
        "-" * 75,
        "INSTRUCTIONS:",
        "[i, j] out[j, i] = a[i, j]  {id=transpose}",
        "[ii, jj] out[ii, jj] = 2*out[ii, jj]  {id=insn, dep=transpose}",
        "-" * 75,
    ]


def test_everything_is_printed() -> None:
    kernel = make_kernel(
        LINE,
        "<float32> t = a[i]\nout[i] = t {if=t > 0}",
        [
            GlobalArg("out", np.float64, shape="n", strides="2", may_alias=True),
            TemporaryVariable("work", np.dtype("int8"), (16,), AddressSpace.LOCAL),
            "...",
        ],
        name="copy",
        assumptions="n >= 1",
        target="c",
        silenced_warnings="PriorityIgnored",
    )
    text = str(kernel)
    for line in (
        "KERNEL: copy",
        "TARGET: c",
        "out: GlobalArg, type: float64, shape: (n), strides: (2), may_alias",
        "work: type: int8, shape: (16), aspace: local",
        "t: type: float32",
        "[n] -> {  : n > 0 }",
        "[i] out[i] = t  {id=insn_0, dep=insn, if=t > 0}",
        "silenced_warnings: ('PriorityIgnored',)",
    ):
        assert line in text.splitlines()


# --- arguments


def test_guessed_arguments() -> None:
    kernel = make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<s }"],
        """
        <> s = starts[i]
        out[i] = scale*sum(j, a[j])
        """,
        assumptions="m >= 3",
    )
    assert arguments(kernel) == {
        "a": "GlobalArg",
        "a_len": "ValueArg",  # only data bounds j
        "m": "ValueArg",
        "n": "ValueArg",
        "out": "GlobalArg",
        "scale": "ValueArg",
        "starts": "GlobalArg",
    }
    assert [t.name for t in kernel.temporaries] == ["s"]


def test_arguments_are_in_order() -> None:
    kernel = make_kernel(LINE, "z[i] = b[i] + c*a[i]")
    assert list(arguments(kernel)) == ["a", "b", "c", "n", "z"]
    kernel = make_kernel(LINE, "z[i] = b[i] + c*a[i]", ["z, n", "...", ValueArg("c")])
    assert list(arguments(kernel)) == ["z", "n", "c", "a", "b"]


def test_shapes_are_guessed() -> None:
    n = ex.Variable("n")
    kernel = make_kernel("{ [i, j]: 0<=i<n and 0<=j<4 }", "out[j, i] = a[i + 2] + b[2*j]")
    assert shape_of(kernel, "out") == (4, n)
    assert shape_of(kernel, "a") == (ex.Sum((n, 2)),)
    assert shape_of(kernel, "b") == (7,)


def test_shapes_of_temporaries_are_guessed() -> None:
    kernel = make_kernel("{ [i]: 0<=i<8 }", "<> t[i, 1] = a[i]\nout[i] = t[i, 1]")
    assert shape_of(kernel, "t") == (8, 2)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("n", ["n"]),
        ("(n, )", ["n"]),
        ("n + 1", ["n + 1"]),
        ("(n + 1)*2", ["(n + 1)*2"]),
        (7, ["7"]),
        (np.int64(7), ["7"]),
        (("n",), ["n"]),
        ([ex.Variable("n")], ["n"]),
    ],
)
def test_shapes_that_are_given(shape: Any, expected: list[str]) -> None:
    declared = GlobalArg("out", "float32", shape=shape)
    kernel = make_kernel(LINE, "out[i] = 1", [declared, "..."], assumptions="n <= 7")
    line = next(line for line in str(kernel).splitlines() if line.startswith("out:"))
    assert f"type: float32, shape: ({', '.join(expected)})," in line
    same = make_kernel(LINE, "out[i] = 1", [kernel.array("out"), "..."], assumptions="n <= 7")
    assert kernel == same


def test_parameters_of_shapes_become_arguments() -> None:
    out = GlobalArg("out", shape="n, m", strides="1, ld")
    kernel = make_kernel(LINE, "out[i, 0] = 1", [out, "..."], assumptions="m >= 1")
    assert list(arguments(kernel)) == ["out", "ld", "m", "n"]


def test_complete_list() -> None:
    kernel = make_kernel(LINE, "<> t = a[i]\nout[i] = t", ["out", "a", "n"])
    assert arguments(kernel) == {"out": "GlobalArg", "a": "GlobalArg", "n": "ValueArg"}
    with pytest.raises(UndeclaredVariable, match="lacks 'a', 'n'"):
        make_kernel(LINE, "out[i] = a[i]", ["out"])


def test_a_bound_that_the_kernel_computes() -> None:
    kernel = make_kernel(LINE, "<> n = 5\nout[i] = n")
    assert arguments(kernel) == {"out": "GlobalArg", "out_len": "ValueArg"}


def test_a_kernel_without_loops() -> None:
    kernel = make_kernel("{ : }", "out[0] = x", silenced_warnings=["AmbiguousNesting"])
    assert kernel.domains == ()
    assert kernel.instructions[0].within_inames == frozenset()
    assert make_kernel([], "out[0] = x", silenced_warnings=["AmbiguousNesting"]) == kernel


def test_a_kernel_without_instructions() -> None:
    assert make_kernel(LINE, "").instructions == ()


# --- instructions that are built


def test_assignments_are_taken_as_they_are() -> None:
    a, i = ex.Variable("a"), ex.Variable("i")
    ready = Assignment("two", ex.Subscript(a, 0), i, frozenset("i"), frozenset(("one",)))
    kernel = make_kernel(LINE, ["b[i] = a[i] {id=one, dep=*}", ready])
    assert kernel.instruction("two") == ready


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("text", "a str"),
        (ex.Sum((1, cast("Any", None))), "a NoneType"),
    ],
)
def test_expressions_have_known_nodes(value: Any, what: str) -> None:
    with pytest.raises(MalformedInstruction, match=what):
        make_kernel(LINE, [Assignment("x", ex.Subscript(ex.Variable("a"), 0), value)])


# --- where things were written


def test_locations() -> None:
    line = sys._getframe().f_lineno + 1
    kernel = make_kernel(LINE, "a[i] = 1")
    for location in (kernel.location, kernel.instructions[0].location):
        assert location is not None
        assert (Path(location.file).name, location.line) == ("test_make_kernel.py", line)


def test_errors_show_the_place() -> None:
    line = sys._getframe().f_lineno + 2
    with pytest.raises(MalformedInstruction) as caught:
        make_kernel(LINE, "a[i] = 1 +")
    assert str(caught.value).splitlines() == [
        "found the end where a name or a number was expected",
        f"  at {__file__}:{line}",
        "  | a[i] = 1 +",
        "  |           ^",
    ]


# --- errors

WRONG: list[tuple[Any, Any, dict[str, Any], type[PolygenError], str, str]] = [
    # names
    (LINE, "out[i] = t\nt = 1", {}, UndeclaredVariable, "'t' is written", "<> t = ..."),
    (LINE, "n = 3\nout[i] = n", {}, UndeclaredVariable, "'n' is written", ""),
    (LINE, "i[3] = 3", {}, NameTaken, "'i'", ""),
    (LINE, "i = 3", {}, NameTaken, "'i'", ""),
    (LINE, "<> t = 1\n<> t = 2", {}, NameTaken, "'t' is declared twice", "leave out <>"),
    (LINE, "for[i] = 1", {}, ReservedName, "'for'", "'for_'"),
    (LINE, "True[i] = 1", {}, ReservedName, "'True'", ""),
    (LINE, "out[i] = int", {}, ReservedName, "'int'", ""),
    (LINE, "<> get_id = 1", {}, ReservedName, "'get_id'", ""),
    (LINE, "sin[i] = sin(2.0)", {}, NameTaken, "'sin' is a function in one place", "'sin_'"),
    (LINE, "out[i] = i(2)", {}, NameTaken, "'i' is a function", ""),
    (LINE, "out[i] = 1", {"name": "a b"}, ReservedName, "'a b' is no identifier", ""),
    (LINE, "out[i] = 1 {inames=i:q}", {}, UnknownIname, "no domain has an iname 'q'", ""),
    (LINE, "out[i] = sum(k, 1)", {}, UnknownIname, "'k'", ""),
    (LINE, "out[i] = i {inames=}", {}, UnknownName, "mentions 'i'", ""),
    (LINE, "<> t = a[i]\nout[0] = sum(i, t)", {}, MalformedKernel, "reduces over 'i'", ""),
    (LINE, "out[i] = sum(i, a[i])", {}, MalformedKernel, "reduces over 'i'", "another iname"),
    # subscripts
    (LINE, "out[i] = a[i] + a[i, 2]", {}, ShapeNotFound, "'a'", "shape="),
    (LINE, "<> t = 1\nout[i] = t[i]", {}, UserError, "'t'", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("out", None, (3, 3)), "..."]},
     MalformedKernel, "'out' with 1 subscripts; it has 2", ""),
    (LINE, "<> t[i] = 1", {}, ShapeNotFound, "(n), which is not constant", "TemporaryVariable"),
    # domains and assumptions
    ("{ [i]: 0<=i<a }", "out[i] = a[i]", {}, MalformedKernel, "'a', which is no", "temporary"),
    (LINE, "out[i] = 1", {"assumptions": "i > 3"}, UserError, "'i'", ""),
    (LINE, "<> t = 1\nout[i] = t", {"assumptions": "t > 3"}, MalformedKernel, "'t'", ""),
    # kernel_data
    (LINE, "out[i] = 1", {"kernel_data": [3]}, InvalidArgument, "3, which is no", "GlobalArg"),
    (LINE, "out[i] = 1", {"kernel_data": ["out", "out", "..."]}, NameTaken, "'out' twice", ""),
    (LINE, "out[i] = 1", {"kernel_data": ["outt", "..."]}, UndeclaredVariable, "'outt'", "'out'"),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x", "floaty"), "..."]},
     InvalidArgument, "'floaty' is no element type", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x", None, cast("Any", 2.5)), "..."]},
     InvalidArgument, "shape of 'x' is given as 2.5", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x", None, "n +"), "..."]},
     UserError, "found the end", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x", None, "n", strides="1, 2"), "..."]},
     MalformedLayout, "has the shape (n), and tags or strides for 2 axes", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x", None, "i"), "..."]},
     MalformedKernel, "mentions 'i', which is no scalar argument", ""),
    (LINE, "out[i] = 1", {"kernel_data": [GlobalArg("x"), "..."]}, ShapeNotFound, "'x'", "shape="),
    (LINE, "out[i] = 1", {"kernel_data": [TemporaryVariable("x", None, "n"), "..."]},
     MalformedKernel, "'x', (n), is not constant", "GLOBAL"),
    (LINE, "<> t = 1", {"kernel_data": [TemporaryVariable("t"), "..."]},
     NameTaken, "'t' is declared here and in kernel_data", ""),
    (LINE, "x = 1\nout[i] = x", {"kernel_data": [ValueArg("x"), "..."]},
     MalformedKernel, "writes 'x', a scalar argument", ""),
    # other arguments
    (LINE, 3, {}, InvalidArgument, "3 is no instruction", ""),
    (LINE, ["a[i] = 1", 3], {}, InvalidArgument, "3 is no instruction", ""),
    (LINE, [Assignment("a b", ex.Variable("x"), 1)], {}, InvalidArgument, "'a b'", ""),
    (LINE, "out[i] = 1", {"target": 3}, InvalidArgument, "3 is no target", ""),
    (LINE, "out[i] = f(1)", {"functions": [3]}, InvalidArgument, r"says no names of functions", ""),
    (LINE, "out[i] = 1", {"silenced_warnings": "Ambiguous"}, InvalidArgument,
     "'Ambiguous'", "AmbiguousNesting"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("domains", "instructions", "options", "kind", "what", "remedy"),
    WRONG,
    ids=[f"{w[1]} {w[2]}" for w in WRONG],
)
def test_errors(
    domains: Any,
    instructions: Any,
    options: dict[str, Any],
    kind: type[PolygenError],
    what: str,
    remedy: str,
) -> None:
    with pytest.raises(kind) as caught:
        make_kernel(domains, instructions, **options)
    assert what in caught.value.what
    assert remedy in (caught.value.remedy or "")


# --- cost


def test_many_instructions_take_linear_time() -> None:
    # Counted, not timed: calls of polygen's and lark's functions for twice the instructions.
    def calls(count: int) -> int:
        lines = ["<> t0 = a[i]", *(f"<> t{k} = t{k - 1} + a[i]" for k in range(1, count))]
        made = 0

        def count_call(_frame: object, event: str, _arg: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count_call)
        try:
            make_kernel(LINE, lines)
        finally:
            sys.setprofile(None)
        return made

    calls(1)
    assert calls(400) < 2.2 * calls(200)


# --- which loop is outside


def test_priorities_that_are_given() -> None:
    cube, text = "{ [i,j,k]: 0<=i,j,k<n }", "a[i,j,k] = 1"
    assert make_kernel(cube, text, loop_priority="k, i").priorities == (("k", "i"),)
    several = make_kernel(cube, text, loop_priority=["k,i", "i,j"])
    assert several.priorities == (("k", "i"), ("i", "j"))
    assert make_kernel(cube, text, loop_priority=()).priorities == ()
    assert make_kernel(cube, text, loop_priority=None).priorities == ()


@pytest.mark.parametrize(
    ("given", "kind", "what"),
    [
        ("i", InvalidArgument, "loop_priority='i' is no priority of loops"),
        (("i", "j"), InvalidArgument, "is no priority of loops"),
        (3, InvalidArgument, "loop_priority=3 is no priority"),
        ([("i", "j")], InvalidArgument, "is no priority"),
        ("i, l", UnknownIname, "no iname 'l'"),
        ("i, j, i", InvalidArgument, "names an iname twice"),
        (["i, j", "j, i"], InvalidArgument, "j, i contradicts what stands before it"),
        (["i, j", "j, k", "k, i"], InvalidArgument, "in a circle"),
    ],
)
def test_priorities_that_are_none(given: Any, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        make_kernel("{ [i,j,k]: 0<=i,j,k<n }", "a[i,j,k] = 1", loop_priority=given)
    assert what in caught.value.what
