"""Checks of types: what is let pass, what is refused, and where it says that it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.kinds import Kind
from polygen.analysis.typing.type_checks import (
    Located,
    check_calls,
    check_functions_are_known,
    check_types,
)
from polygen.errors import TypeMismatch, UnknownFunction, UserError, WrongArity
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

INAME, A = ex.Variable("i"), ex.Variable("a")
KNL = kernel(
    "{ [i]: 0<=i<n }", "out[i] = a[i] {id=s}\nmore[i] = a[i] {id=t}", pg.GlobalArg("out, more, a")
)
TYPES: dict[str, Kind] = {
    "out": np.dtype("float32"),
    "more": np.dtype("float32"),
    "a": np.dtype("float64"),
    "i": int,
    "n": int,
}


def _with(value: Expression, *, assignee: Expression | None = None) -> Kernel:
    """Return the kernel in which s computes something else, which nothing has checked."""
    insn = KNL.assignment("s").copy(expression=value)
    if assignee is not None:
        insn = insn.copy(assignee=assignee)
    return KNL.copy(instructions=(insn, KNL.assignment("t")))


def _check(knl: Kernel = KNL, *, instructions: str = "st", **types: Kind) -> None:
    insns = [knl.instruction(insn_id) for insn_id in instructions]
    check_types(knl, insns, {**TYPES, **types}, {})


def _call(name: str, *arguments: Expression) -> ex.Call:
    return ex.Call(ex.Variable(name), arguments)


def test_values_that_may_be_written() -> None:
    _check()
    _check(a=np.dtype("int64"))
    _check(a=np.dtype("bool"))
    _check(_with(2.5))


@pytest.mark.parametrize(
    ("target", "remedy"),
    [("float32", "convert it on purpose: float32(...)"), ("bool", "write a comparison")],
)
def test_values_that_may_not_be_written(target: str, remedy: str) -> None:
    with pytest.raises(TypeMismatch) as error:
        _check(a=np.dtype("complex64"), out=np.dtype(target))
    assert "'s' writes a value of type 'complex64' to 'out', whose type is" in error.value.what
    assert remedy in (error.value.remedy or "")
    assert "-> [i] out[i] = a[i]" in (error.value.excerpt or "")
    assert error.value.where is not None


def test_only_given_instructions_are_looked_at() -> None:
    complex64 = np.dtype("complex64")
    _check(instructions="t", out=np.dtype("bool"))
    with pytest.raises(TypeMismatch):
        _check(instructions="s", out=np.dtype("bool"))
    # The type of a value that is known is not asked for again.
    insns = [KNL.instruction("s")]
    with pytest.raises(TypeMismatch, match="type 'complex64'"):
        check_types(KNL, insns, TYPES, {("s", 0): complex64})
    check_types(KNL, insns, {**TYPES, "a": complex64}, {("s", 0): np.dtype("float32")})
    check_types(KNL, [], {}, {})


def test_conditions_have_types_too() -> None:
    bad = ex.Comparison(ex.BitwiseNot(ex.element(A, (INAME,))), ">", 0)
    insn = KNL.assignment("s").copy(predicates=(bad,))
    with pytest.raises(TypeMismatch, match="only there for integers"):
        _check(KNL.copy(instructions=(insn, KNL.assignment("t"))))


def test_bounds_of_loops_are_integers() -> None:
    _check(n=np.dtype("uint8"))
    for kind in (np.dtype("float32"), np.dtype("bool")):
        with pytest.raises(TypeMismatch, match=r"the domain .* mentions 'n'"):
            _check(n=kind)
    assumed = kernel("{ [i]: 0<=i<4 }", "out[i] = 1", assumptions="n >= 0")
    with pytest.raises(TypeMismatch, match=r"the assumption .* mentions 'n'"):
        check_types(assumed, [], {"n": np.dtype("float32")}, {})


@pytest.mark.parametrize(
    "index",
    [
        2.5,
        True,
        ex.Quotient(INAME, 2),
        ex.sum_of(INAME, ex.product_of(2, ex.Quotient(INAME, 2))),
        ex.Max((INAME, 0.5)),
        ex.Comparison(INAME, ">", 0),
        ex.LogicalNot(INAME),
    ],
)
def test_subscripts_that_are_certainly_no_integers(index: Expression) -> None:
    element = ex.element(A, (index,))
    for knl in (_with(ex.sum_of(1, element)), _with(0, assignee=element)):
        with pytest.raises(TypeMismatch, match="has a subscript that is no integer"):
            check_calls(knl)


@pytest.mark.parametrize(
    "index", [INAME, 3, ex.floor_quotient(INAME, 2), ex.element(A, (INAME,)), _call("floor", 0.5)]
)
def test_other_subscripts_are_not_decided_without_types(index: Expression) -> None:
    check_calls(_with(ex.element(A, (index,))))


def test_calls() -> None:
    for good in (_call("sin", INAME), _call("unknown", INAME, INAME, INAME)):
        check_calls(_with(good))
    with pytest.raises(WrongArity, match="gives 2 arguments to 'sin'") as error:
        check_calls(_with(ex.sum_of(1, _call("sin", INAME, INAME))))
    assert "-> [i] out[i] = 1 + sin(i, i)" in (error.value.excerpt or "")


def test_functions_that_nobody_knows() -> None:
    check_functions_are_known(_with(_call("sin", INAME)))
    with pytest.raises(UnknownFunction, match="no function 'unknown'") as error:
        check_functions_are_known(_with(_call("sin", _call("unknown", INAME))))
    assert error.value.where is not None


def test_errors_say_where_unless_they_do() -> None:
    insn = KNL.instruction("t")
    with pytest.raises(TypeMismatch) as error, Located(KNL, insn):
        raise TypeMismatch("why", remedy="how")
    assert (error.value.what, error.value.remedy) == ("why", "how")
    assert error.value.where == insn.location
    assert "-> [i] more[i] = a[i]" in (error.value.excerpt or "")
    known = UserError("why", excerpt="there")
    with pytest.raises(UserError) as raised, Located(KNL, insn):
        raise known
    assert raised.value is known
    with pytest.raises(ZeroDivisionError), Located(KNL, insn):
        raise ZeroDivisionError
