"""Expressions of literals only: Python computes them, exactly as it would have done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_Value: TypeAlias = Any  # bool, int or float; None where nothing is computed
_Binary: TypeAlias = Callable[[_Value, _Value], _Value]

_LARGEST_EXPONENT = 64


def _power(base: _Value, exponent: _Value) -> _Value:
    if isinstance(base, int) and isinstance(exponent, int):
        # Negative powers of integers are errors in NumPy; large ones fit no type.
        return base**exponent if 0 <= exponent <= _LARGEST_EXPONENT else None
    return base**exponent


def _shift(operation: _Binary) -> _Binary:
    return lambda value, count: operation(value, count) if 0 <= count < _LARGEST_EXPONENT else None


_COMPARISONS: Mapping[str, _Binary] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

# Operators of two operands, or of several from left to right.
_FOLDS: Mapping[type, _Binary] = {
    ex.Sum: lambda a, b: a + b,
    ex.Product: lambda a, b: a * b,
    ex.Quotient: lambda a, b: a / b,
    ex.FloorDiv: lambda a, b: a // b,
    ex.Remainder: lambda a, b: a % b,
    ex.Power: _power,
    ex.Min: min,
    ex.Max: max,
    ex.BitwiseAnd: lambda a, b: a & b,
    ex.BitwiseOr: lambda a, b: a | b,
    ex.BitwiseXor: lambda a, b: a ^ b,
    ex.LeftShift: _shift(lambda a, b: a << b),
    ex.RightShift: _shift(lambda a, b: a >> b),
}

_OF_COMPLEX = (ex.Sum, ex.Product, ex.Quotient)

_OF_TRUTH: Mapping[type, Callable[[list[_Value]], _Value]] = {
    ex.If: lambda v: v[1] if v[0] else v[2],
    ex.LogicalAnd: all,
    ex.LogicalOr: any,
    ex.LogicalNot: lambda v: not v[0],
}


def fold_constant(node: Expression, constants: Mapping[int, _Value]) -> _Value:
    """Return the value of `node` if it is a literal or is computed from literals, else None.

    Parameters:
        node: any expression.
        constants: the values of its parts as far as they have one, by their ids.
    """
    if not isinstance(node, ex.ExpressionNode):
        return None if isinstance(node, np.generic) else node
    values = [constants.get(id(part)) for part in walk.parts(node)]
    if not values or any(type(v) not in (int, float, bool, complex) for v in values):
        return None
    if complex in map(type, values) and type(node) not in _OF_COMPLEX:
        return None
    if type(node) in _OF_TRUTH:
        return _OF_TRUTH[type(node)](values)
    if isinstance(node, ex.BitwiseNot):
        return ~values[0] if type(values[0]) is int else None
    if bool in map(type, values):
        return None  # they are numbers to Python, but not here
    operation = _FOLDS.get(type(node))
    if isinstance(node, ex.Comparison):
        operation = _COMPARISONS[node.operator]
    try:
        value = None if operation is None else reduce(operation, values)
    except ArithmeticError:
        return None
    return None if isinstance(value, complex) and complex not in map(type, values) else value


MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def decide_comparison(limits: tuple[int, int], operator: str, value: int) -> bool | None:
    """Return what ``x operator value`` comes to for all x within the limits, or None.

    >>> decide_comparison((0, 255), "<", 300)
    True
    """
    low, high = limits
    always = {
        "<": value > high,
        "<=": value >= high,
        ">": value < low,
        ">=": value <= low,
        "==": False,
        "!=": not low <= value <= high,
    }
    never = {
        "<": value <= low,
        "<=": value < low,
        ">": value >= high,
        ">=": value > high,
        "==": not low <= value <= high,
        "!=": False,
    }
    return True if always[operator] else False if never[operator] else None
