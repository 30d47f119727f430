"""Numbers with a type, and conversions, as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir.instruction import Assignment
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression

x = ex.Variable("x")


def converted(name: str, node: Any) -> Any:
    return ex.Call(ex.Variable(name), (node,))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("1.5f", converted("float32", 1.5)),
        ("2.f", converted("float32", 2.0)),
        ("1e3F", converted("float32", 1000.0)),
        ("5f", converted("float32", 5.0)),
        ("5d", converted("float64", 5.0)),
        ("1e3D", converted("float64", 1000.0)),
        ("5jf", converted("complex64", 5j)),
        (".5fj", converted("complex64", 0.5j)),
        (".5j", 0.5j),
        ("2j", 2j),
        ("1e2J", 100j),
        ("np.float32(2)", converted("float32", 2)),
        ("np.int8(x)", converted("int8", x)),
        ("cast(np.float32, x)", converted("float32", x)),
        ("cast(uint16, x)", converted("uint16", x)),
        ("cast(np.complex64, 2)", converted("complex64", 2)),
        ("float16(x)", converted("float16", x)),
    ],
)
def test_what_text_means(text: str, node: Any) -> None:
    found = parse_expression(text)
    assert found == node
    assert parse_expression(show_expression(found)) == found


@pytest.mark.parametrize(
    ("text", "reason", "remedy"),
    [
        ("cast(np.flaot32, x)", "'flaot32' is no element type", "float32"),
        ("cast(x)", "cast() takes a type and a number", "cast(np.float32, x)"),
        ("cast(2, x)", "cast() takes a type and a number", "cast(np.float32, x)"),
        ("cast(np.float32, x, y)", "cast() takes a type and a number", "cast(np.float32, x)"),
        ("np.sin(x)", "'np.sin' is no type", "write sin(...) without np."),
        ("np.foo(x)", "'foo' is no element type", ""),
        ("sin(np.float32)", "'np.float32' is a type, which sin() does not take", "np.float32(x)"),
        ("1e999f", "1e999f is larger than any floating-point number", ""),
        ("1e999j", "1e999j is larger than any floating-point number", ""),
    ],
)
def test_refusals(text: str, reason: str, remedy: str) -> None:
    with pytest.raises(MalformedInstruction) as error:
        pg.make_kernel("{ [i]: 0<=i<n }", f"a[i] = {text}")
    assert reason in error.value.what
    assert remedy in (error.value.remedy or "")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_numbers_of_numpys_in_given_trees(target: str) -> None:
    i = ex.Variable("i")
    a = ex.Subscript(ex.Variable("a"), i)
    tree = ex.Sum((ex.Product((np.float32(0.1), a)), np.int8(3), np.float64(2.5)))
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        [Assignment("s", ex.Subscript(ex.Variable("out"), i), tree, frozenset("i"))],
        [pg.GlobalArg("a", np.float32), pg.GlobalArg("out", np.float64), "..."],
    )
    assert "float32(0.10000000149011612)*a[i] + int8(3) + float64(2.5)" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    values = np.arange(5, dtype=np.float32)
    _, (out,) = knl.executor(target)(a=values)
    assert out.dtype == np.float64
    assert np.array_equal(out, np.float32(0.1) * values + np.int8(3) + np.float64(2.5))


def test_complex_numbers_in_given_trees() -> None:
    out = ex.Subscript(ex.Variable("out"), ex.Variable("i"))
    tree = ex.Sum((1 - 2j, np.complex64(3j)))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", [Assignment("s", out, tree, frozenset("i"))])
    assert "(1.0 - 2.0j) + complex64(3.0j)" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize("wrong", ["text", np.longdouble(2), np.datetime64(1, "D"), None])
def test_what_is_no_number(wrong: Any) -> None:
    insn = Assignment("s", ex.Subscript(ex.Variable("a"), 0), ex.Sum((x, wrong)))
    with pytest.raises((MalformedInstruction, pg.errors.InvalidArgument)):
        pg.make_kernel("{ [i]: 0<=i<n }", [insn])
