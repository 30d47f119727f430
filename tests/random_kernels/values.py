"""Expressions as text, with what is known of their values: type, size, and how far off they may be.

Integers are exact.  For a floating-point number, `Value.error` bounds how far what a machine
computes is from what the expression means, however its operations are rounded (each by at most
`eps` of its type, fused or not), and in whatever order sums are added up.  So two right results
differ by at most twice that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

DType = np.dtype[Any]
BOOL = np.dtype(np.bool_)
# Floating-point numbers of more than this are not computed with.
LARGEST = {"float16": 8e3, "float32": 1e9, "float64": 1e12, "complex64": 1e9, "complex128": 1e12}
ULPS = 16  # what OpenCL's and C's functions may be off by: 16 is for pow and erf, others are better


@dataclass(frozen=True)
class Value:
    """An expression.

    Attributes:
        text: it can be put anywhere in an expression.
        dtype: the type of its value.
        most: what its absolute value is at most.
        error: how far off it may be; 0 if it is exact.
    """

    text: str
    dtype: DType
    most: float
    error: float = 0.0

    @property
    def kind(self) -> str:
        """``"b"``, ``"i"``, ``"f"`` or ``"c"``; unsigned integers are ``"i"``."""
        return self.dtype.kind.replace("u", "i")

    @property
    def exact(self) -> bool:
        """Whether it may be compared, rounded or converted to an integer."""
        return self.error == 0

    @property
    def fits(self) -> bool:
        """Whether to go on computing with it."""
        return self.kind in "bi" or self.most + self.error <= LARGEST[self.dtype.name]

    def named(self, text: str) -> Value:
        """Return the same value under another name."""
        return replace(self, text=text)

    def stored(self, text: str, dtype: DType) -> Value:
        """Return the value of a variable that it is stored in."""
        return computed(text, dtype, self.most, self.error)


def computed(text: str, dtype: DType, most: float, error: float, ulps: float = 1) -> Value:
    """Return the value of one operation on values, of which sums and products are whole numbers.

    Parameters:
        text: the operation.
        dtype: its type.
        most: a bound of its absolute value.
        error: how far it is off because its operands are.
        ulps: how far it is off by itself; half of one, but for what is fused.
    """
    if dtype.kind in "biu":
        return Value(text, dtype, min(most, largest(dtype)))
    info = np.finfo(dtype)
    if error == 0 and ulps == 1 and most <= 2.0**info.nmant:
        return Value(text, dtype, most)
    error += ulps * (float(info.eps) * (most + error) + float(info.tiny))
    return Value(text, dtype, most, error)


def largest(dtype: DType) -> float:
    """Return the greatest absolute value of an integer type."""
    return 1 if dtype.kind == "b" else float(max(np.iinfo(dtype).max, -int(np.iinfo(dtype).min)))


def joined(*values: Value) -> DType:
    """Return the type that operands are computed in."""
    return np.result_type(*[v.dtype for v in values])
