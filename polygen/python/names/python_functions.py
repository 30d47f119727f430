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
from polygen.python.names.programs import run
from polygen.python.operators import Rule, as_float, as_int
from polygen.python.python_integers import check_conversion
from polygen.python.refused import Refused
from polygen.python.values import (
    COMPLEX128,
    FLOAT64,
    Constant,
    Lazy,
    Number,
    Several,
    Value,
    View,
    affine_number,
    constant_number,
    converted_tree,
)

_LARGEST_OF_EXP = 709.782712893384  # what exp() of double precision is of

_DOMAIN = "math domain error"
_SPELLED = {"erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma"}


def _len(_trace: Expressions, value: Value) -> Value:
    if isinstance(value, Several):
        return constant_number(len(value.parts))
    if isinstance(value, Lazy | View) and value.shape:
        return affine_number(value.shape[0])
    raise Refused("the length of something that is no array")


def _int(trace: Expressions, value: Value) -> Value:
    if isinstance(value, Number) and value.dtype.kind != "c":
        check_conversion(trace, value)
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


def _round(trace: Expressions, value: Value, ndigits: Value | None = None) -> Value:
    if not isinstance(value, Number) or value.dtype.kind not in "iuf":
        raise Refused("round() of something that is no real number")
    if ndigits is not None and ndigits != Constant(None):
        raise Refused("round() to decimals", "multiply, round and divide")
    if value.dtype.kind != "f":
        return value
    return trace.called(int, [trace.called(np.rint, [value])])


def _divmod(trace: Expressions, value: Value, divisor: Value) -> Value:
    return Several((trace.operated("//", value, divisor), trace.operated("%", value, divisor)))


def _of_text(kind: Callable[[str], float], text: str) -> Value:
    """Return the number that a text says, as ``float("inf")``."""
    try:
        return constant_number(kind(text))
    except ValueError as error:  # which Python raises when the statement is executed, if it is
        raise Refused(str(error)) from None


def _complex(trace: Expressions, real: Value, imaginary: Value | None = None) -> Value:
    parts = [real] if imaginary is None else [real, imaginary]
    numbers = [part for part in parts if isinstance(part, Number)]
    if len(numbers) < len(parts):
        raise Refused("complex() of something that is no number")
    if all(one.is_constant for one in numbers):
        return constant_number(complex(*[one.value for one in numbers]))
    if len(numbers) == 2 and any(one.dtype.kind == "c" for one in numbers):
        raise Refused("complex() of complex parts", "add them: a + 1j*b")
    trees = [converted_tree(one.element(), one.dtype, COMPLEX128) for one in numbers]
    if len(trees) == 2:
        trees = [ex.sum_of(trees[0], ex.product_of(trees[1], ex.converted("complex128", 1j)))]
    del trace
    return Number(COMPLEX128, weak=True, tree=trees[0])


def _greatest_common_divisor(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def _least_common_multiple(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return abs(a) // _greatest_common_divisor(a, b) * abs(b)


def _of_integers(program: Callable[[int, int], int]) -> Row:
    """Return the row of a function of two integers."""

    def row(trace: Expressions, one: Value, other: Value) -> Value:
        numbers = [v for v in (one, other) if isinstance(v, Number) and v.dtype.kind in "iu"]
        if len(numbers) < 2:
            raise Refused("a divisor of what is no integer")
        return run(trace, program, *map(as_int, numbers))

    return row


def _square_root(n: int) -> int:
    root = int(math.sqrt(n))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


def _isqrt(trace: Expressions, value: Value) -> Value:
    if not isinstance(value, Number) or value.dtype.kind not in "iu":
        raise Refused("the root of what is no integer")
    return run(trace, _square_root, as_int(value))


def _float_power(trace: Expressions, base: Value, exponent: Value) -> Value:
    """Return ``math.pow``, which has errors where NumPy's has no number."""
    numbers = [v for v in (base, exponent) if isinstance(v, Number)]
    if len(numbers) < 2:
        raise Refused("a function of 'math' is given an array", "use NumPy's")
    one, other = [as_float(v) for v in numbers]
    if one.is_constant and other.is_constant:
        return constant_number(_folded(math.pow, one.value, other.value))
    sides: tuple[Any, Any] = one.element(), other.element()
    found = ex.Power(*sides)
    size = [ex.Call(ex.Variable("isfinite"), (v.element(),)) for v in (one, other)]
    is_wrong = ex.LogicalAnd((*size, ex.LogicalNot(ex.Call(ex.Variable("isfinite"), (found,)))))
    is_of_zero = ex.Comparison(one.element(), "==", 0.0)
    is_none = ex.Call(ex.Variable("isnan"), (found,))
    is_large = ex.LogicalNot(ex.LogicalOr((is_of_zero, is_none)))
    trace.fault(ex.LogicalAnd((is_wrong, is_large)), OverflowError, "math range error")
    trace.fault(ex.LogicalAnd((is_wrong, ex.LogicalNot(is_large))), ValueError, "math domain error")
    return Number(FLOAT64, weak=True, tree=found)


def _folded(function: Callable[[float, float], float], one: float, other: float) -> float:
    try:
        return function(one, other)
    except (ValueError, OverflowError) as error:
        raise Refused(str(error)) from None


def _remainder(trace: Expressions, one: Value, other: Value) -> Value:
    """Return ``math.fmod``, which has an error where NumPy's has no number."""
    numbers = [v for v in (one, other) if isinstance(v, Number)]
    if len(numbers) < 2:
        raise Refused("a function of 'math' is given an array", "use NumPy's")
    given, by = [as_float(v) for v in numbers]
    if given.is_constant and by.is_constant:
        return constant_number(_folded(math.fmod, given.value, by.value))
    trees: tuple[Any, Any] = given.element(), by.element()
    is_endless, is_none = (
        ex.Call(ex.Variable(name), (tree,))
        for name, tree in zip(("isinf", "isnan"), trees, strict=True)
    )
    is_by_zero = ex.LogicalAnd(
        (
            ex.Comparison(trees[1], "==", 0.0),
            ex.LogicalNot(ex.Call(ex.Variable("isnan"), (trees[0],))),
        )
    )
    is_wrong = ex.LogicalOr((is_by_zero, ex.LogicalAnd((is_endless, ex.LogicalNot(is_none)))))
    trace.fault(is_wrong, ValueError, _DOMAIN)
    return Number(FLOAT64, weak=True, tree=ex.Call(ex.Variable("fmod"), trees))


def _bool(trace: Expressions, value: Value) -> Value:
    return trace.truth(value)


def extreme(sign: str) -> Row:
    """Return Python's ``max`` (``>``) or ``min`` (``<``) of several numbers."""

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
        trace.fault(ex.Comparison(tree, "<", 0.0), ValueError, _DOMAIN)
    elif ufunc in (np.log, np.log2, np.log10):
        trace.fault(ex.Comparison(tree, "<=", 0.0), ValueError, _DOMAIN)
    elif ufunc is np.log1p:
        trace.fault(ex.Comparison(tree, "<=", -1.0), ValueError, _DOMAIN)
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
        check_conversion(trace, found)
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
    builtins.complex: _complex,
    math.gcd: _of_integers(_greatest_common_divisor),
    math.lcm: _of_integers(_least_common_multiple),
    math.isqrt: _isqrt,
    math.pow: _float_power,
    math.fmod: _remainder,
    builtins.round: _round,
    builtins.divmod: _divmod,
    builtins.abs: _abs,
    math.floor: _rounded(np.floor),
    math.ceil: _rounded(np.ceil),
    math.trunc: _rounded(np.trunc),
    **dict(map(_math, _FUNCTIONS)),
    **{
        getattr(math, name): _python_function(
            np.exp, Rule(name, np.exp, function_named(own), getattr(math, name))
        )
        for name, own in _SPELLED.items()
    },
}
