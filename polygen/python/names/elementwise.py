"""NumPy's functions of elements, and choices between elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, array_of, common_type, converted, stored_into
from polygen.python.operators import OPERATORS, Rule, operand_tree
from polygen.python.refused import Refused
from polygen.python.values import (
    BOOL,
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Masked,
    Number,
    Value,
    View,
    converted_tree,
    literal,
)


def function_named(name: str) -> Callable[[Sequence[Any], np.dtype], Expression]:
    """Return what makes a call of a function of kernels."""
    return lambda trees, _dtype: ex.Call(ex.Variable(name), tuple(trees))


# NumPy's function -> polygen's, of the same operands.
_CALLS = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "hypot": "hypot", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "copysign": "copysign", "nextafter": "nextafter", "fmod": "fmod",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit",
    "fmax": "fmax", "fmin": "fmin", "deg2rad": "radians", "rad2deg": "degrees",
    "radians": "radians", "degrees": "degrees", "fabs": "fabs", "ldexp": "ldexp",
}  # fmt: skip

# NumPy's names for operators.
_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "mod": "%", "left_shift": "<<", "right_shift": ">>",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip


def _absolute(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    if dtype.kind in "ub":
        (same,) = trees
        found: Expression = same
        return found
    return ex.Call(ex.Variable("abs"), tuple(trees))


def _sign(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    (x,) = trees
    if dtype.kind == "f":  # of what is no number, NumPy's is none
        zero = literal(0.0, dtype)
        small = ex.If(ex.Comparison(x, "<", zero), literal(-1.0, dtype), x)
        above = ex.If(ex.Comparison(x, ">", zero), literal(1.0, dtype), small)
        return ex.If(ex.Comparison(x, "==", zero), zero, above)
    return ex.Call(ex.Variable("sign"), tuple(trees))


def _joined(kind: type[Any]) -> Callable[[Sequence[Any], np.dtype], Expression]:
    def made(trees: Sequence[Any], dtype: np.dtype) -> Expression:
        made: Expression = kind(tuple([converted_tree(tree, dtype, BOOL) for tree in trees]))
        return made

    return made


def _inverse(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    if dtype.kind not in "fc":
        raise Refused("np.reciprocal of integers", "write 1 // x")
    one: Any = literal(1, dtype)
    return ex.Quotient(one, trees[0])


def _step_at_zero(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    """Return ``heaviside(x, h)``: what is no number stays none."""
    x, at_zero = trees
    zero, one = literal(0.0, dtype), literal(1.0, dtype)
    rest = ex.If(ex.Comparison(x, "==", zero), at_zero, x)
    above = ex.If(ex.Comparison(x, ">", zero), one, rest)
    return ex.If(ex.Comparison(x, "<", zero), zero, above)


def _log_of_sum(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    """Return ``log(exp(x) + exp(y))``, where neither power has to be finite."""
    x, y = trees
    apart = ex.Call(ex.Variable("abs"), (ex.sum_of(x, ex.negated(y)),))
    power = ex.Call(ex.Variable("exp"), (ex.negated(apart),))
    added = ex.Call(ex.Variable("log1p"), (power,))
    twice = ex.sum_of(x, literal(math.log(2.0), dtype))
    return ex.If(ex.Comparison(x, "==", y), twice, ex.sum_of(ex.Max((x, y)), added))


def _logical_xor(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    one, other = [converted_tree(tree, dtype, BOOL) for tree in trees]
    return ex.Comparison(one, "!=", other)


RULES: dict[np.ufunc, Rule] = {
    **{getattr(np, n): Rule(n, getattr(np, n), function_named(f)) for n, f in _CALLS.items()},
    np.absolute: Rule("absolute", np.absolute, _absolute),
    np.negative: Rule("negative", np.negative, lambda t, _d: ex.negated(t[0])),
    np.positive: Rule("positive", np.positive, lambda t, _d: t[0]),
    np.square: Rule("square", np.square, lambda t, _d: ex.product_of(t[0], t[0])),
    np.reciprocal: Rule("reciprocal", np.reciprocal, _inverse),
    np.sign: Rule("sign", np.sign, _sign),
    np.heaviside: Rule("heaviside", np.heaviside, _step_at_zero),
    np.logaddexp: Rule("logaddexp", np.logaddexp, _log_of_sum),
    np.maximum: Rule("maximum", np.maximum, lambda t, _d: ex.Max(tuple(t))),
    np.minimum: Rule("minimum", np.minimum, lambda t, _d: ex.Min(tuple(t))),
    np.logical_and: Rule("logical_and", np.logical_and, _joined(ex.BitwiseAnd)),
    np.logical_or: Rule("logical_or", np.logical_or, _joined(ex.BitwiseOr)),
    np.logical_xor: Rule("logical_xor", np.logical_xor, _logical_xor),
    np.logical_not: Rule(
        "logical_not", np.logical_not, lambda t, d: ex.LogicalNot(converted_tree(t[0], d, BOOL))
    ),
    np.conjugate: Rule(
        "conjugate",
        np.conjugate,
        lambda t, d: ex.Call(ex.Variable("conj"), tuple(t)) if d.kind == "c" else t[0],
    ),
    np.invert: Rule(
        "invert",
        np.invert,
        lambda t, d: ex.LogicalNot(t[0]) if d.kind == "b" else ex.BitwiseNot(t[0]),
    ),
}


def _ufunc(rule: Rule) -> Row:
    def row(
        trace: Expressions, *operands: Value, out: Value | None = None,
        where: Value | None = None, **named: Any,
    ) -> Value:  # fmt: skip
        if named:
            raise Refused(f"np.{rule.name} has the argument '{next(iter(named))}'")
        count = rule.ufunc.nin
        if len(operands) == count + 1:
            *operands_list, out = operands
        else:
            operands_list = list(operands)
        if len(operands_list) != count:
            raise Refused(f"np.{rule.name} has {count} operands")
        if any(isinstance(one, Masked) for one in operands_list):
            return _masked_call(trace, row, operands_list)
        given = [array_of(trace, one) for one in operands_list]
        found = _of_complex(trace, rule, given) or trace.elementwise(rule, given)
        return _given_out(trace, of_numpy(found), out, where)

    return row


def of_numpy(found: Value) -> Value:
    """Return what a function of NumPy's makes of numbers of Python's: a number of NumPy's."""
    if isinstance(found, Number) and found.weak:
        return Number(found.dtype, tree=found.element())
    return found


def _given_out(trace: Expressions, found: Value, out: Value | None, where: Value | None) -> Value:
    """Return a result: by itself, or in an array, some of whose elements a mask may leave."""
    if where is None or (isinstance(where, Number) and where.is_constant and where.value):
        return found if out is None else stored_into(trace, out, found)
    if not isinstance(out, View) or not isinstance(found, Number | Lazy | View):
        raise Refused("'where' without an array for 'out' leaves elements without values")
    return stored_into(trace, out, _where(trace, where, converted(found, out.dtype), out))


def _masked_call(trace: Expressions, row: Row, operands: Sequence[Value]) -> Value:
    masks = [one.mask for one in operands if isinstance(one, Masked)]
    if any(mask is not masks[0] for mask in masks):
        raise Refused("two masks choose different elements", "use one mask, with one name")
    found = row(trace, *[one.data if isinstance(one, Masked) else one for one in operands])
    assert isinstance(found, Lazy | View)
    (first, *_) = [one for one in operands if isinstance(one, Masked)]
    return replace(first, data=found)


def _of_complex(trace: Expressions, rule: Rule, given: Sequence[Number | Arrayed]) -> Value | None:
    """Return what has a type of its own for complex numbers."""
    if rule.ufunc is np.absolute and given[0].dtype.kind == "c":
        return trace.elementwise(Rule("absolute", np.absolute, function_named("abs")), given)
    return None


def _where(trace: Expressions, condition: Value, one: Value, other: Value) -> Value:
    mask, left, right = (array_of(trace, v) for v in (condition, one, other))
    dtype = common_type([left, right])
    shape = trace.broadcast([v.shape for v in (mask, left, right)])
    mask, left, right = (trace.shared(v) for v in (mask, left, right))

    def element(index: Indices) -> Expression:
        rank = len(shape)
        asked = converted_tree(trace.element_of(mask, rank, index), mask.dtype, BOOL)
        parts = [operand_tree(v, trace.element_of(v, rank, index), dtype) for v in (left, right)]
        return ex.If(asked, *parts)

    return Lazy(dtype, shape, element) if shape else Number(dtype, tree=element(()))


def _clip(
    trace: Expressions, value: Value, low: Value | None = None, high: Value | None = None,
    out: Value | None = None,
) -> Value:  # fmt: skip
    found = value
    for bound, function in ((low, np.maximum), (high, np.minimum)):
        if bound is not None and bound != Constant(None):
            found = trace.called(function, [found, bound])
    return found if out is None else stored_into(trace, out, found)


def _power(
    trace: Expressions, one: Value, other: Value, out: Value | None = None,
    *, where: Value | None = None,
) -> Value:  # fmt: skip
    return _given_out(trace, of_numpy(trace.operated("**", one, other)), out, where)


ROWS: dict[Any, Row] = {
    **{ufunc: _ufunc(rule) for ufunc, rule in RULES.items()},
    **{
        getattr(np, name): _ufunc(Rule(name, OPERATORS[s].ufunc, OPERATORS[s].tree))
        for name, s in _OPERATORS.items()
    },
    np.power: _power,
    np.where: _where,
    np.clip: _clip,
}
METHODS: dict[str, Any] = {"clip": np.clip, "conj": np.conjugate, "conjugate": np.conjugate}
