"""Expressions of literals only: Python computes them, exactly as it would have done."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_Value: TypeAlias = Any  # bool, int or float

_LARGEST_EXPONENT = 64


def _power(base: _Value, exponent: _Value) -> _Value:
    if isinstance(base, int) and isinstance(exponent, int):
        # Negative powers of integers are errors in NumPy; large ones fit no type.
        return base**exponent if 0 <= exponent <= _LARGEST_EXPONENT else None
    return base**exponent


_OPERATIONS: Mapping[type, Callable[..., _Value]] = {
    ex.Sum: lambda *v: reduce(operator.add, v),
    ex.Product: lambda *v: reduce(operator.mul, v),
    ex.Min: min,
    ex.Max: max,
    ex.Quotient: operator.truediv,
    ex.FloorDiv: operator.floordiv,
    ex.Remainder: operator.mod,
    ex.Power: _power,
}


def fold_constant(node: Expression, constants: Mapping[int, _Value]) -> _Value:
    """Return the value of `node` if it is a literal or is computed from literals, else None.

    Parameters:
        node: any expression.
        constants: the values of its parts as far as they have one, by their ids.
    """
    if not isinstance(node, ex.ExpressionNode):
        return None if isinstance(node, np.generic) else node
    operation = _OPERATIONS.get(type(node))
    if operation is None:
        return None
    values = [constants.get(id(part)) for part in walk.parts(node)]
    if not all(type(v) in (int, float) for v in values):
        return None
    try:
        value = operation(*values)
    except ArithmeticError:
        return None
    return None if isinstance(value, complex) else value
