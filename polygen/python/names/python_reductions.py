"""Python's ``sum``, ``max`` and ``min`` of one array, or of one tuple: element by element.

They differ from NumPy's: a sum has the type of an element, and an element that is no number is the
largest one only if it comes first.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row
from polygen.python.names.programs import Array, run
from polygen.python.names.python_functions import extreme
from polygen.python.names.reductions import reduced
from polygen.python.nodes import empty_text
from polygen.python.refused import Refused
from polygen.python.values import (
    BOOL,
    INT64,
    Lazy,
    Number,
    Several,
    Value,
    View,
    constant_number,
)


def _largest(x: Array) -> Array:
    best = x[0]
    for k in range(1, len(x)):
        best = max(best, x[k])
    return best


def _least(x: Array) -> Array:
    best = x[0]
    for k in range(1, len(x)):
        best = min(best, x[k])
    return best


def _extreme_of_one(sign: str, program: Any) -> Row:
    name = "max" if sign == ">" else "min"
    of_several = extreme(sign)

    def row(trace: Expressions, *values: Value) -> Value:
        array = values[0] if len(values) == 1 else None
        if not isinstance(array, Lazy | View):
            return of_several(trace, *values)
        if len(array.shape) != 1:
            raise Refused(f"{name}() compares the rows of an array", f"use np.{name}")
        if array.dtype.kind == "c":
            raise Refused(f"{name}() compares complex numbers, which have no order")
        has_some = trace.facts.holds(array.shape[0].minus(1))
        if has_some is False:
            raise Refused(f"{name}() of nothing is an error in Python")
        if has_some is None and not trace.facts.is_never_negative(array.shape[0].minus(1)):
            is_empty = ex.Comparison(array.shape[0].tree(), "<", 1)
            trace.fault(is_empty, ValueError, empty_text(max if sign == ">" else min))
        return run(trace, program, array)

    return row


def _sum(trace: Expressions, values: Value) -> Value:
    if isinstance(values, Several):
        total: Value = constant_number(0)
        for part in values.parts:
            total = trace.operated("+", total, part)
        return total
    if not isinstance(values, Lazy | View) or not values.shape:
        raise Refused("sum() of something that is no array and no tuple")
    extent = values.shape[0]
    if trace.facts.holds(extent.minus(1)) is False:
        return constant_number(0)
    dtype = INT64 if values.dtype == BOOL else np.dtype(values.dtype)
    first: Number = constant_number(0)
    return reduced(trace, "sum", values, dtype, first, keeps=False)


ROWS: dict[Any, Row] = {
    builtins.sum: _sum,
    builtins.max: _extreme_of_one(">", _largest),
    builtins.min: _extreme_of_one("<", _least),
}
