"""Powers, as Python and NumPy have them: which values they are of decides their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.operators import OPERATORS, POSITIVE, Rule
from polygen.python.refused import Refused
from polygen.python.values import FLOAT64, Arrayed, Lazy, Number, Value, literal


class _Tracer(Protocol):
    def elementwise(self, rule: Rule, operands: Sequence[Number | Arrayed]) -> Number | Lazy: ...

    def called(self, function: Any, arguments: Sequence[Any]) -> Value: ...

    def fault(
        self, condition: Expression, kind: type[Exception], text: str | None = None
    ) -> None: ...


def power(trace: _Tracer, one: Number | Arrayed, other: Number | Arrayed) -> Value:
    """Return ``one ** other``.

    Raises:
        Refused: if values decide its type, or kernels have no such power.
    """
    if one.dtype.kind == "b" and not one.weak:
        raise Refused("a power of truth values", "convert them: .astype(np.int64)")
    if isinstance(other, Number) and other.is_constant and other.weak:
        value = other.value
        if value == 2:
            return trace.elementwise(OPERATORS["*"], [one, one])
        if isinstance(value, int) and value == 1 and one.dtype.kind in "ifc":
            return trace.elementwise(POSITIVE, [one])
        if value == 0.5 and one.dtype.kind == "f":
            return _root(trace, one)
        if one.dtype.kind in "biu" and isinstance(value, int) and value < 0:
            raise Refused("an integer has a negative power")
        if one.weak and one.dtype.kind == "f" and not float(value).is_integer():
            raise Refused("a power of a number of Python's may be complex", "use np.sqrt")
    elif one.weak and other.weak:
        return _of_python(trace, one, other)
    return trace.elementwise(OPERATORS["**"], [one, other])


def _root(trace: _Tracer, one: Number | Arrayed) -> Value:
    """Return ``x ** 0.5``; that of a negative number of Python's is complex: an error here."""
    if not (isinstance(one, Number) and one.weak):
        return trace.called(np.sqrt, [one])
    trace.fault(ex.Comparison(one.element(), "<", 0.0), ValueError, "math domain error")
    return Number(FLOAT64, weak=True, tree=ex.Call(ex.Variable("sqrt"), (one.element(),)))


def _of_python(trace: _Tracer, one: Number | Arrayed, other: Number | Arrayed) -> Value:
    """Return a power of a positive constant of Python's with a float: a float, or an error."""
    is_positive = isinstance(one, Number) and one.is_constant and one.value > 0
    if not is_positive or one.dtype.kind not in "if" or other.dtype != FLOAT64:
        raise Refused("a power of numbers of Python's, with an exponent that is no constant")
    found = trace.elementwise(OPERATORS["**"], [one, other])
    assert isinstance(found, Number)
    infinity = literal(float("inf"), FLOAT64)
    is_too_large = ex.Comparison(found.element(), "==", infinity)
    is_finite = ex.Comparison(other.element(()), "<", infinity)
    trace.fault(ex.LogicalAnd((is_too_large, is_finite)), OverflowError)
    return found
