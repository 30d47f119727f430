"""The rules for the types of operators' results, against NumPy and Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polygen.analysis.typing.kinds import BOOL, Counter, Kind, same_kind
from polygen.analysis.typing.operator_types import (
    OPERATORS,
    REAL,
    floating,
    number,
    power,
    require,
    whole_number,
)
from polygen.errors import TypeMismatch
from polygen.ir import expression as ex
from polygen.ir.expression import Expression

X, Y, C = (ex.Variable(name) for name in "xyc")
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
I8, I32, I64, U64, F32, F64 = map(
    np.dtype, ("int8", "int32", "int64", "uint64", "float32", "float64")
)
C64 = np.dtype("complex64")


def _type(node: Expression, *parts: Kind) -> Kind:
    return OPERATORS[type(node)](node, parts)


def test_every_operator_has_a_rule() -> None:
    """Leaves and calls have no operands, or rules of their own."""
    nodes = {
        ex.Subscript, ex.Comparison, ex.If, ex.Power, ex.Quotient, ex.FloorDiv, ex.Remainder,
        ex.LeftShift, ex.RightShift, ex.BitwiseNot, ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor,
        ex.Sum, ex.Product, ex.Min, ex.Max, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot,
    }  # fmt: skip
    assert OPERATORS.keys() == nodes


@pytest.mark.parametrize("name", ["bool", *INTEGERS, "float16", "float32", "complex64"])
def test_quotients_are_numpys(name: str) -> None:
    dtype = np.dtype(name)
    one = np.ones(2, dtype)
    # Of bytes, NumPy has a quotient in float16: here it is the same for all integers.
    expected = np.dtype("float64") if dtype.kind in "biu" else (one / one).dtype
    assert same_kind(floating(dtype), expected)
    assert same_kind(_type(ex.Quotient(X, Y), dtype, dtype), expected)
    assert same_kind(number(dtype), np.dtype("int8") if name == "bool" else dtype)


def test_quotients_of_numbers_without_a_type() -> None:
    kinds: list[Kind] = [int, Counter, float]
    assert all(floating(kind) is float for kind in kinds)
    assert floating(complex) is complex
    assert number(int) is int


@pytest.mark.parametrize("node", [ex.LeftShift(X, Y), ex.RightShift(X, Y), ex.BitwiseAnd((X, Y))])
def test_integers_are_computed_in_what_they_have_in_common(node: Expression) -> None:
    for first, second in product(["bool", *INTEGERS], repeat=2):
        kinds = np.dtype(first), np.dtype(second)
        common = np.result_type(*kinds)
        if common.kind == "f":  # uint64 and a signed type
            with pytest.raises(TypeMismatch, match="no integer type in common"):
                _type(node, *kinds)
            continue
        shifted = common == BOOL and not isinstance(node, ex.BitwiseAnd)
        assert same_kind(_type(node, *kinds), np.dtype("int8") if shifted else common)
        if not isinstance(node, ex.BitwiseAnd):
            assert same_kind(whole_number(node, kinds), _type(node, *kinds))


@pytest.mark.parametrize(
    ("base", "exponent", "kind"),
    [
        (I32, I8, I32),
        (BOOL, BOOL, I8),
        (I32, F32, F64),
        (F32, int, F32),
        (int, int, int),
        (Counter, I8, I32),
        (C64, F64, np.dtype("complex128")),
    ],
)
def test_powers(base: Kind, exponent: Kind, kind: Kind) -> None:
    assert same_kind(power(ex.Power(X, Y), (base, exponent)), kind)


def test_negative_powers_are_there_for_numbers_that_have_fractions() -> None:
    inverse = ex.Power(X, -1)
    assert same_kind(power(inverse, (F32, int)), F32)
    assert same_kind(power(ex.Power(X, 0), (I32, int)), I32)
    assert power(inverse, (int, int)) is float
    assert power(inverse, (Counter, int)) is float
    for dtype in (I32, BOOL, U64):
        with pytest.raises(TypeMismatch, match="raises integers to a negative power"):
            power(inverse, (dtype, int))


def test_conditions() -> None:
    for operator in ("==", "!="):
        assert same_kind(_type(ex.Comparison(X, operator, Y), C64, F32), BOOL)
    assert same_kind(_type(ex.Comparison(X, "<", Y), I32, F32), BOOL)
    with pytest.raises(TypeMismatch, match=f"only there for {REAL}"):
        _type(ex.Comparison(X, "<", Y), C64, F32)
    # The condition of a choice has no say in its type.
    assert same_kind(_type(ex.If(C, X, Y), F64, I8, I32), I32)
    for node in (ex.LogicalAnd((X, Y)), ex.LogicalOr((X, Y))):
        assert same_kind(_type(node, F32, I8), BOOL)
    assert same_kind(_type(ex.LogicalNot(X), C64), BOOL)


def test_subscripts_are_integers() -> None:
    node = ex.element(X, (Y, 1))
    integers: tuple[Kind, ...] = (int, Counter, I8, U64)
    for index in integers:
        assert same_kind(_type(node, F32, index, int), F32)
    others: tuple[Kind, ...] = (float, F64, BOOL, C64)
    for index in others:
        with pytest.raises(TypeMismatch, match=r"'x\[y, 1\]' has a subscript of type"):
            _type(node, F32, index, int)
    with pytest.raises(TypeMismatch):
        _type(node, F32, int, F32)


def test_complements() -> None:
    assert same_kind(_type(ex.BitwiseNot(X), U64), U64)
    assert _type(ex.BitwiseNot(X), int) is int
    for dtype in (BOOL, F32):
        with pytest.raises(TypeMismatch, match="only there for integers"):
            _type(ex.BitwiseNot(X), dtype)


@pytest.mark.parametrize("node", [ex.Min((X, Y)), ex.FloorDiv(X, Y), ex.Remainder(X, Y)])
def test_real_numbers_alone(node: Expression) -> None:
    assert same_kind(_type(node, I32, F32), F64)
    truth = BOOL if isinstance(node, ex.Min) else I8
    assert same_kind(_type(node, BOOL, BOOL), truth)
    with pytest.raises(TypeMismatch, match=f"only there for {REAL}"):
        _type(node, F32, C64)


def test_what_is_required_of_operands() -> None:
    require(X, [], "", "nothing")
    require(X, [I8, int, Counter], "i", "integers with a sign")
    with pytest.raises(TypeMismatch) as error:
        require(X, [I8, U64], "i", "integers with a sign")
    assert error.value.what == (
        "'x' has an operand of type 'uint64'; it is only there for integers with a sign"
    )
    with pytest.raises(TypeMismatch) as error:
        require(ex.BitwiseXor((X, Y)), [float], "iu", "integers")
    assert error.value.remedy == "a power is written '**'"
