"""Choices between scalars of two types: what is done with one is done with both.

z[i] = x[i] if c else i          z[i] = if(c, x[i], float64(i))
(x[i] if c else i)*2 + 1   ->    if(c, x[i]*2.0 + 1.0, float64(i*2 + 1))     where it is assigned
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.operators import OPERATORS, operand_tree, types_of
from polygen.python.refused import Refused
from polygen.python.values import Either, Number, Value


def chosen_value(trace: Any, condition: Number, one: Value, other: Value) -> Value:
    """Return one of two scalars: a number, if there is a type for both.

    Parameters:
        trace: the tracer.
        condition: decides.
        one, other: the values where it holds, and where it does not.

    Raises:
        Refused: for arrays and other values.
    """
    if not isinstance(one, Number | Either) or not isinstance(other, Number | Either):
        raise Refused("an array or another value stands where a number has to be")
    why = "a name is of two types, one in each case"
    if isinstance(one, Number) and isinstance(other, Number):
        try:
            found: Value = trace.chosen(condition, one, other)
        except Refused as error:
            why = error.why
        else:
            return found
    return Either(condition, one, other, why)


def with_each(trace: Any, value: Either, make: Callable[[Any], Value]) -> Value:
    """Return what a function makes of whichever scalar a choice is.

    Parameters:
        trace: the tracer.
        value: the choice.
        make: the function.
    """
    with trace.where(value.condition):
        one = make(value.one)
    with trace.where(trace.denied(value.condition)):
        other = make(value.other)
    return chosen_value(trace, value.condition, one, other)


def operated_on_either(trace: Any, sign: str, left: Value, right: Value) -> Value:
    """Return what an operator makes of two values, of which one is a choice."""
    operated: Callable[[str, Value, Value], Value] = trace.operated
    if isinstance(left, Either):
        dtype = _common(sign, left, lambda one: (one, right), 0)
        if dtype is not None:
            return operated(sign, settled(left, dtype), right)
        return with_each(trace, left, lambda one: operated(sign, one, right))
    assert isinstance(right, Either)
    dtype = _common(sign, right, lambda one: (left, one), 1)
    if dtype is not None:
        return operated(sign, left, settled(right, dtype))
    return with_each(trace, right, lambda one: operated(sign, left, one))


def _common(
    sign: str, value: Either, operands: Callable[[Any], Sequence[Any]], at: int
) -> np.dtype | None:
    """Return the type that both scalars are converted to before an operation; None if they differ.

    Parameters:
        sign: the operator.
        value: the choice.
        operands: returns the operands for a scalar.
        at: which of them that is.
    """
    fixed = operands(value.one)[1 - at]
    if isinstance(fixed, Either) or getattr(fixed, "weak", True) or sign == "**":
        return None
    found = set[tuple[Any, ...]]()
    for one in scalars(value):
        given, result = types_of(OPERATORS[sign], operands(one))
        found.add((given, result))
    return next(iter(found))[0][at] if len(found) == 1 else None


def scalars(value: Number | Either) -> list[Number]:
    """Return all scalars that a choice may be."""
    if isinstance(value, Number):
        return [value]
    return [*scalars(value.one), *scalars(value.other)]


def settled(value: Number | Either, dtype: np.dtype) -> Number:
    """Return a choice as a number of a type that its scalars are converted to.

    Parameters:
        value: the choice.
        dtype: the type.

    Raises:
        Refused: if one of them is complex, and the type is not.
    """
    if isinstance(value, Number):
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise Refused("a complex number is assigned to a real one")
        return Number(dtype, tree=operand_tree(value, value.element(), dtype))
    trees = [settled(part, dtype).element() for part in (value.one, value.other)]
    return Number(dtype, tree=ex.If(value.condition.element(), *trees))
