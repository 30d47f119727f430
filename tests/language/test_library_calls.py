"""Calls of numerical libraries: what they may say, and what they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    MalformedInstruction,
    UnknownRoutine,
    UserError,
    WrongLibraryCall,
)
from polygen.ir.library_call import LibraryCall
from tests.oracle.cases import kernel

A = pg.GlobalArg("a", np.float64, shape="n, l")
B = pg.GlobalArg("b", np.float64, shape="l, m")
C = pg.GlobalArg("c", np.float64, shape="n, m")
TEXT = 'c = library("gemm", a, b)'


def call_of(knl: pg.Kernel) -> LibraryCall:
    """Return the only call of a library in a kernel."""
    (found,) = [i for i in knl.instructions if isinstance(i, LibraryCall)]
    return found


def test_text() -> None:
    knl = kernel("{ : }", TEXT, A, B, C)
    shown = '[] c = library("gemm", a, b, m=n, k=l, n=m)  {id=gemm}'
    assert shown in str(knl).splitlines()
    assert pg.parse_kernel(str(knl)) == knl
    call = call_of(knl)
    assert (call.function, call.names) == ("gemm", ("m", "k", "n", "a", "b"))
    again = pg.make_kernel("{ : }", [call], [A, B, C, "..."])
    assert call_of(again) == call


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a, b, alpha=2*s", "a, b, m=n, k=l, n=m, alpha=2*s"),
        ("a, b, c, beta=3", "a, b, c, m=n, k=l, n=m, beta=3"),
        ("a, b, beta=s", "a, b, c, m=n, k=l, n=m, beta=s"),
        ("a, b, c", "a, b, c, m=n, k=l, n=m, beta=1"),
        ("a, b, c, beta=0", "a, b, m=n, k=l, n=m"),
        ('a, b, trans_a="N"', "a, b, m=n, k=l, n=m"),
        ('a, b, n=4, m=3, k=2, trans_b="N"', "a, b, m=3, k=2, n=4"),
    ],
)
def test_what_is_filled_in(said: str, shown: str) -> None:
    data: list[Any] = [A, B, C]
    if "m=3" in said:
        shapes = [(3, 2), (2, 4), (3, 4)]
        data = [replace(x, shape=shape) for x, shape in zip(data, shapes, strict=True)]
    knl = kernel("{ : }", f'c = library("gemm", {said})', *data)
    assert f'[] c = library("gemm", {shown})  {{id=gemm}}' in str(knl).splitlines()
    assert pg.parse_kernel(str(knl)) == knl


def test_shapes_follow_from_operands() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        """
        <> c = library("gemm", a, b)
        out[i,j] = c[i,j] + d[i,j]
        """,
        pg.GlobalArg("a", shape="n, l"),
        pg.GlobalArg("b", shape="l, m"),
    )
    assert [str(e) for e in knl.array("c").shape or ()] == ["n", "m"]
    assert knl.address_space("c") is pg.AddressSpace.GLOBAL
    assert knl.instruction("insn").depends_on == {"gemm"}
    assert not pg.obligations(knl)  # what is read of c is written: all of it
    assert pg.parse_kernel(str(knl)) == knl


def test_it_stands_for_loops() -> None:
    number = pg.ValueArg("s", np.float64)
    knl = kernel("{ : }", 'c = library("gemm", a, b, alpha=2, beta=s)', A, B, C, number)
    (insn,) = knl.expanded.instructions
    inside = "2*sum(gemm_l, a[gemm_i, gemm_l]*b[gemm_l, gemm_j]) + s*c[gemm_i, gemm_j]"
    assert inside in str(knl.expanded)
    assert insn.within_inames == {"gemm_i", "gemm_j"}
    loops = kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) + s*c[i,j]",
        *(A, B, C, number),
    )
    assert pg.equivalent(knl, loops)
    text = "c[i,j] = 3*sum(k, a[i,k]*b[k,j]) + s*c[i,j]"
    other = kernel(["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"], text, A, B, C, number)
    assert not pg.equivalent(knl, other)
    counts = pg.get_op_map(knl).filter_by(name=["mul"])
    assert counts.eval_and_sum({"n": 3, "m": 5, "l": 7}) == 3 * 5 * (7 + 2)


def test_dependences_are_of_instances() -> None:
    knl = kernel(
        "{ [t]: 0<=t<T }",
        """
        for t
            y = library("gemv", a, x)  {id=y, dep=*}
            x = library("gemv", a, y)  {id=x, dep=*y}
        end
        """,
        pg.GlobalArg("a", np.float64, shape="n, n"),
        pg.GlobalArg("x", np.float64, shape="n"),
        pg.TemporaryVariable("y", np.float64, shape="n", address_space=pg.AddressSpace.GLOBAL),
    )
    found = {" ".join(str(d).partition(" through")[0].split()) for d in pg.dependences(knl)}
    assert found == {
        "flow y_insn[t, y_i] -> x_insn[t, x_i]",
        "flow x_insn[t, x_i] -> y_insn[t + 1, y_i]",
        "anti y_insn[t, y_i] -> x_insn[t, x_i]",
        "output x_insn[t, x_i] -> x_insn[t + 1, x_i]",
    }


def test_parts_of_arrays() -> None:
    part = '[i, j]: c[t, i, j] = library("gemm", [i, k]: a[i, k, t], b, m=4, n=3, k=2) {inames=t}'
    data = (
        pg.GlobalArg("a", np.float64, shape="4, 2, T"),
        pg.GlobalArg("b", np.float64, shape="2, 3"),
        pg.GlobalArg("c", np.float64, shape="T, 4, 3"),
    )
    knl = kernel("{ [t]: 0<=t<T }", part, *data)
    assert pg.parse_kernel(str(knl)) == knl
    with pytest.raises(UserError, match="outside"):
        kernel("{ [t]: 0<=t<T }", part.replace("k=2", "k=3"), *data)
    with pytest.raises(WrongLibraryCall, match="has to know its size 'm'") as caught:
        kernel("{ [t]: 0<=t<T }", part.replace("m=4, ", ""), *data)
    assert "m=..." in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ('c = library("gem", a, b)', UnknownRoutine, "there is no routine 'gem'"),
        ('c = library("gemm", a)', WrongLibraryCall, "takes the arrays a, b, c, and is given 1"),
        ('c, d = library("gemm", a, b)', WrongLibraryCall, "assigns 1 arrays"),
        ('c = library("gemm", a, b, gamma=2)', WrongLibraryCall, "takes no number 'gamma'"),
        ('c = library("gemm", a, b, trans="T")', WrongLibraryCall, "has no option 'trans'"),
        ('c = library("gemm", a, b, trans_a="X")', WrongLibraryCall, 'not know trans_a="X"'),
        ('c = library("gemm", a, 2*b)', WrongLibraryCall, "takes an array for 'b'"),
        ('c = library("gemm", a, a)', WrongLibraryCall, "arrays of one size 'k'"),
        ('c = library("gemm", a, b, trans_a="T")', WrongLibraryCall, "arrays of one size"),
        ('c = library("gemm", a, v)', WrongLibraryCall, "an array of 2 axes for 'b'"),
        ('c += library("gemm", a, b)', MalformedInstruction, "'+=' updates"),
        ('c = library("gemm", a, b) {atomic}', MalformedInstruction, "never atomic"),
        ('c = library("gemm", alpha=2, a, b)', MalformedInstruction, "after the arrays"),
        ('c = library("gemm", a, b, k=l, k=l)', MalformedInstruction, "'k' is said twice"),
    ],
)
def test_refused(text: str, kind: type[UserError], what: str) -> None:
    vector = pg.GlobalArg("v", np.float64, shape="l")
    with pytest.raises(kind) as caught:
        kernel("{ : }", text, A, B, C, vector)
    assert what in caught.value.what
    assert caught.value.remedy


def test_what_is_read_and_written_is_apart() -> None:
    square = [pg.GlobalArg(name, np.float64, shape="n, n") for name in "ab"]
    with pytest.raises(pg.errors.OverlappingParts):
        kernel("{ : }", 'a = library("gemm", a, b)', *square)


def test_a_library_is_no_kernel_of_the_program() -> None:
    knl = kernel("{ : }", TEXT, A, B, C, name="top")
    assert [k.name for k in pg.merge([knl])] == ["top"]
    gemm = pg.make_function("{ [i]: 0<=i<n }", "y[i] = x[i]", name="gemm")
    assert [k.name for k in pg.merge([knl, gemm])] == ["gemm", "top"]
    loops = pg.inline_callable_kernel(knl, "gemm")
    assert not loops.calls
    assert pg.equivalent(loops, knl)
