"""Truth values as operands: types, and values on both targets, are NumPy's for every operator."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.expression_types import type_of
from polygen.errors import TypeMismatch
from polygen.language.parser import parse_expression
from tests.few import few

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "a + b": operator.add,
    "a - b": operator.sub,
    "a * b": operator.mul,
    "a / b": operator.truediv,
    "a // b": operator.floordiv,
    "a % b": operator.mod,
    "a ** b": operator.pow,
    "a & b": operator.and_,
    "a | b": operator.or_,
    "a ^ b": operator.xor,
    "a << b": operator.lshift,
    "a >> b": operator.rshift,
    "a < b": operator.lt,
    "a <= b": operator.le,
    "a == b": operator.eq,
    "a != b": operator.ne,
    "min(a, b)": np.minimum,
    "max(a, b)": np.maximum,
    "a - b - b": lambda a, b: a - b - b,
    "b - a*b": lambda a, b: b - a * b,
    "2 - a - b": lambda a, b: 2 - a - b,
}
DTYPES = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
PAIRS = [pair for d in DTYPES for pair in (("bool", d), (d, "bool"))][1:]
ORDERED = ("a < b", "a <= b", "min(a, b)", "max(a, b)")  # complex numbers have no order here


def _of_numpy(text: str, a: Any, b: Any) -> Any:
    """Return what NumPy computes; None if it has no such operation."""
    try:
        with np.errstate(all="ignore"):
            return OPERATORS[text](a, b)
    except TypeError:
        return None


@pytest.mark.parametrize("text", OPERATORS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_types(text: str, pair: tuple[str, str]) -> None:
    if "complex" in "".join(pair) and text in ORDERED:
        return  # refused, as the test of comparisons has it
    a, b = (np.ones(2, dtype) for dtype in pair)
    expected = _of_numpy(text, a, b)
    kinds = {"a": a.dtype, "b": b.dtype}
    if expected is None:
        with pytest.raises(TypeMismatch):
            type_of(parse_expression(text), kinds)
    else:
        assert type_of(parse_expression(text), kinds) == expected.dtype


@pytest.mark.parametrize("weak", [int, float, complex])
@pytest.mark.parametrize("text", ["a + b", "a - b", "a * b", "a / b"])
def test_python_numbers(text: str, weak: type) -> None:
    truth = np.ones(2, np.bool_)
    names = {"a": truth.dtype, "b": weak}
    for swapped in (False, True):
        a, b = (weak(1), truth) if swapped else (truth, weak(1))
        kinds = {"a": names["b"], "b": names["a"]} if swapped else names
        found = type_of(parse_expression(text), kinds)  # type: ignore[arg-type]
        assert np.dtype(found) == OPERATORS[text](a, b).dtype


def test_what_numpy_does_not_have() -> None:
    truth = np.dtype(np.bool_)
    kinds = {"a": truth, "b": truth, "x": np.dtype(np.int8)}
    for text in ("a - b", "a - b - b", "(a + b) - a*b"):
        with pytest.raises(TypeMismatch, match="subtracts truth values") as caught:
            type_of(parse_expression(text), kinds)
        assert "!=" in str(caught.value.remedy)
    with pytest.raises(TypeMismatch, match="only there for integers"):
        type_of(parse_expression("~a"), kinds)
    # alone, -a is a number, for which NumPy has no operation
    assert type_of(parse_expression("-a"), kinds) == np.int64
    assert type_of(parse_expression("x - a"), kinds) == np.int8


VALUES = [text for text in OPERATORS if text not in ("a // b", "a % b", "a / b")]


@few(1, "target", ["c", "opencl"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(target: str, dtype: str) -> None:
    """All operators that there are for a pair of types, in one kernel, on all pairs of values."""
    values = [0, 1] if dtype == "bool" else [0, 1, 3, 100]
    if np.dtype(dtype).kind in "if":
        values.append(-2)
    numbers, truths = np.array(values).astype(dtype), np.array([False, True])
    first, second = (grid.ravel() for grid in np.meshgrid(numbers, truths))
    for a, b in ((first, second), (second, first)):
        wanted: dict[str, Any] = {}
        for number, text in enumerate(VALUES):
            if np.dtype(dtype).kind == "c" and (text in ORDERED or "**" in text):
                continue
            if "**" in text and np.dtype(dtype).kind == "i":
                continue  # of which some are negative
            if ("<<" in text or ">>" in text) and dtype != "bool":
                continue  # by more bits than there are
            expected = _of_numpy(text, a, b)
            if expected is not None:
                wanted[f"o{number}"] = (text, expected)
        lines = [f"{name}[i] = {text}" for name, (text, _) in wanted.items()]
        text = "\n".join(line.replace("a", "x[i]").replace("b", "y[i]") for line in lines)
        text = text.replace("mx[i]x", "max")
        knl = pg.set_options(pg.make_kernel("{ [i]: 0<=i<n }", text), return_dict=True)
        _, found = knl.executor(target)(x=a, y=b)
        for name, (formula, expected) in wanted.items():
            assert found[name].dtype == expected.dtype, formula
            # OpenCL's pow may be off by 16 units in the last place.
            inexact = "**" in formula and expected.dtype.kind in "fc"
            rtol = 16 * np.finfo(expected.dtype).eps if inexact else 0
            np.testing.assert_allclose(found[name], expected, rtol=rtol, atol=0, err_msg=formula)
