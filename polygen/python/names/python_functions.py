"""Python's own functions, and those of `math`: of numbers, to numbers of Python's."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.names.elementwise import RULES, function_named
from polygen.python.operators import Rule, as_float, as_int
from polygen.python.refused import Refused
from polygen.python.values import (
    Constant,
    Lazy,
    Number,
    Several,
    Value,
    View,
    affine_number,
    constant_number,
)

_LARGEST_OF_EXP = 709.782712893384  # what exp() of double precision is of

_SPELLED = {"erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma"}


def _len(_trace: Expressions, value: Value) -> Value:
    if isinstance(value, Several):
        return constant_number(len(value.parts))
    if isinstance(value, Lazy | View) and value.shape:
        return affine_number(value.shape[0])
    raise Refused("the length of something that is no array")


def _int(trace: Expressions, value: Value) -> Value:
    del trace
    if isinstance(value, Number) and value.dtype.kind != "c":
        return as_int(value)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return _of_text(int, value.value)
    raise Refused("int() of something that is no number")


def _float(trace: Expressions, value: Value) -> Value:
    del trace
    if isinstance(value, Number) and value.dtype.kind != "c":
        return as_float(value)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return _of_text(float, value.value)
    raise Refused("float() of something that is no number")


def _of_text(kind: Callable[[str], float], text: str) -> Value:
    """Return the number that a text says, as ``float("inf")``."""
    try:
        return constant_number(kind(text))
    except ValueError as error:  # which Python raises when the statement is executed, if it is
        raise Refused(str(error)) from None


def _bool(trace: Expressions, value: Value) -> Value:
    return trace.truth(value)


def _extreme(sign: str) -> Row:
    def row(trace: Expressions, *values: Value) -> Value:
        if len(values) == 1 and isinstance(values[0], Several):
            values = values[0].parts
        numbers = [v for v in values if isinstance(v, Number)]
        if len(numbers) < len(values) or len(values) < 2:
            raise Refused("min() or max() of something that is no number", "use np.min or np.max")
        best = numbers[0]
        for other in numbers[1:]:
            best = _better(trace, sign, best, other)
        return best

    return row


def _better(trace: Expressions, sign: str, best: Number, other: Number) -> Number:
    if best.affine is not None and other.affine is not None:
        ahead = best.affine.minus(other.affine).times(1 if sign == ">" else -1)
        if trace.facts.is_never_negative(ahead):
            return best
        if trace.facts.is_never_negative(ahead.times(-1)):
            return other
    is_better = trace.truth(trace.operated(sign, other, best))
    if is_better.is_constant:
        return other if is_better.value else best
    return trace.chosen(is_better, other, best)


def _check_domain(trace: Expressions, ufunc: np.ufunc, value: Number) -> None:
    """Let the call raise what functions of `math` raise, where NumPy's give no number."""
    if value.is_constant:
        return
    tree: Any = value.element()
    if ufunc is np.sqrt:
        trace.fault(ex.Comparison(tree, "<", 0.0), ValueError)
    elif ufunc in (np.log, np.log2, np.log10):
        trace.fault(ex.Comparison(tree, "<=", 0.0), ValueError)
    elif ufunc is np.log1p:
        trace.fault(ex.Comparison(tree, "<=", -1.0), ValueError)
    elif ufunc is np.exp:
        too_large = ex.Comparison(tree, ">", _LARGEST_OF_EXP)
        is_finite = ex.Call(ex.Variable("isfinite"), (tree,))
        trace.fault(ex.LogicalAnd((too_large, is_finite)), OverflowError)


def _python_function(ufunc: np.ufunc, rule: Rule | None = None) -> Row:
    """Return a function of `math`: of numbers, to a float of Python's."""

    def row(trace: Expressions, *operands: Value) -> Value:
        numbers = [v for v in operands if isinstance(v, Number)]
        if len(numbers) < len(operands):
            raise Refused("a function of 'math' is given an array", "use NumPy's")
        given = [as_float(one) for one in numbers]
        if rule is None:
            _check_domain(trace, ufunc, given[0])
        found = trace.elementwise(rule or RULES[ufunc], given)
        assert isinstance(found, Number)
        if found.is_constant:
            return constant_number(np.asarray(found.value).item())
        return Number(found.dtype, True, found.element())

    return row


def _rounded(ufunc: np.ufunc) -> Row:
    def row(trace: Expressions, value: Value) -> Value:
        if isinstance(value, Number) and value.affine is not None:
            return value
        found = _python_function(ufunc)(trace, value)
        assert isinstance(found, Number)
        return as_int(found)

    return row


def _abs(trace: Expressions, value: Value) -> Value:
    if isinstance(value, Number) and value.affine is not None:
        if trace.facts.is_never_negative(value.affine):
            return value
        if trace.facts.is_always_negative(value.affine):
            return affine_number(value.affine.times(-1))
    found = trace.called(np.absolute, [value])
    if isinstance(found, Number) and isinstance(value, Number) and value.weak:
        if found.is_constant:
            return constant_number(np.asarray(found.value).item())
        return Number(found.dtype, True, found.element())
    return found


def _math(name: str) -> tuple[Any, Row]:
    given = {"fabs": "fabs", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
             "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
             "atanh": "arctanh"}.get(name, name)  # fmt: skip
    return getattr(math, name), _python_function(getattr(np, given))


_FUNCTIONS = (
    "sin", "cos", "tan", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "exp", "expm1", "fabs",
    "hypot", "copysign", "cbrt", "isnan", "isinf", "isfinite", "degrees", "radians", "sqrt", "log",
    "log2", "log10", "log1p",
)  # fmt: skip
ROWS: dict[Any, Row] = {
    builtins.len: _len,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.abs: _abs,
    builtins.max: _extreme(">"),
    builtins.min: _extreme("<"),
    math.floor: _rounded(np.floor),
    math.ceil: _rounded(np.ceil),
    math.trunc: _rounded(np.trunc),
    **dict(map(_math, _FUNCTIONS)),
    **{
        getattr(math, name): _python_function(np.exp, Rule(name, np.exp, function_named(own)))
        for name, own in _SPELLED.items()
    },
}
