"""Pieces of C: a text, how strongly it binds, and what type it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polygen.ir.dtype import DType, integer_limits, is_exact
from polygen.targets.expressions.index_ranges import Range
from polygen.targets.languages.target import FLOAT16, FLOAT32, INT32, INT64, UINT64

# How strongly an operator binds, weakest first: C's order.
(
    ANY,
    CHOICE,
    OR,
    AND,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    EQUALITY,
    ORDER,
    SHIFT,
    SUM,
    PRODUCT,
    UNARY,
    ATOM,
) = range(14)


@dataclass(slots=True)
class Term:
    """The text of an expression.

    Attributes:
        text: C.
        level: how strongly its outermost operator binds.
        dtype: the type that it has in the kernel.
        c_type: the type that C gives to the text: C computes on nothing smaller than ``int``.
        exact: whether its value in C is the one it has in the kernel.  If not, a cast to
            `dtype` makes it so: the two are equal modulo 2 to the number of bits of `dtype`.
        integer: its value if it is a literal of an integer type: it gets another type by
            being spelled differently.
        split: its left operand, its operator and its right operand, if it has two.
        bounds: the least and the largest value that the text may have, if it is an integer; None
            if nothing is known but its type.
    """

    text: str
    level: int
    dtype: DType
    c_type: DType
    exact: bool = True
    integer: int | None = None
    split: tuple[str, str, Term] | None = None
    bounds: Range | None = None

    def within(self, level: int) -> str:
        """Return the text for an operand that has to bind at least as strongly as `level`."""
        return f"({self.text})" if self.level < level else self.text


class Lanes(Term):
    """The text of a vector: one number for each lane.

    The language promotes nothing in vectors, and compares to 0 and -1: so `c_type`, that of the
    components, is promoted already, and for truth values the integer that they are.
    """

    __slots__ = ()


def promoted(dtype: DType) -> DType:
    """Return the type in which C computes on operands of a type; on halves, it is ``float``."""
    if is_exact(dtype) and dtype.itemsize < 4:
        return INT32
    return FLOAT32 if dtype == FLOAT16 else dtype


def unsigned(dtype: DType) -> DType:
    """Return the integer type of the same size that has no sign."""
    return _UNSIGNED[dtype.itemsize]


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def usual(left: DType, right: DType) -> DType:
    """Return the type that C gives to a sum: its usual arithmetic conversions."""
    left, right = promoted(left), promoted(right)
    if left == right:
        return left
    if left.kind == "f" or right.kind == "f":
        floats = [t for t in (left, right) if t.kind == "f"]
        return max(floats, key=lambda t: t.itemsize)
    if left.itemsize != right.itemsize:
        return max(left, right, key=lambda t: t.itemsize)
    return left if left.kind == "u" else right


def _bounds(term: Term, dtype: DType) -> Range:
    """Return the least and the largest value of an operand of an operation in a type."""
    if term.integer is not None:
        return term.integer, term.integer
    if not term.exact and term.dtype != dtype:
        return integer_limits(term.dtype)  # it is cast before
    return term.bounds or integer_limits(term.dtype if term.exact else term.c_type)


def result_range(operator: str, left: Term, right: Term, dtype: DType) -> Range:
    """Return the least and the largest value of a sum, a difference or a product in a type."""
    (a, b), (c, d) = _bounds(left, dtype), _bounds(right, dtype)
    if operator == "+":
        return a + c, b + d
    if operator == "-":
        return a - d, b - c
    ends = (a * c, a * d, b * c, b * d)
    return min(ends), max(ends)


def is_held(found: Range, c_type: DType) -> bool:
    """Tell whether a type holds all numbers of a range."""
    low, high = integer_limits(c_type)
    return low <= found[0] and found[1] <= high


def integer_type(value: int) -> DType | None:
    """Return the type that a literal has in C without being told, or None if it has none."""
    for dtype, (low, high) in _OF_LITERALS:
        if low <= value <= high:
            return dtype
    return None


_OF_LITERALS = [(dtype, integer_limits(dtype)) for dtype in (INT32, INT64, UINT64)]


def integer_text(value: int, suffix: str) -> tuple[str, int]:
    """Return a literal and its level.

    The smallest value of a type is spelled as a sum: in C, ``-2147483648`` is the negative of
    a number that ``int`` does not hold.
    """
    if value in (-(2**31), -(2**63)):
        return f"-{-value - 1}{suffix} - 1", SUM
    return f"{value}{suffix}", UNARY if value < 0 else ATOM


def float_text(value: float, dtype: DType, suffix: str) -> tuple[str, int, DType]:
    """Return a literal with the fewest digits that give its value back, its level and C type."""
    with np.errstate(over="ignore"):
        exact = promoted(dtype).type(dtype.type(value))
    if np.isnan(exact):
        return "NAN", ATOM, np.dtype(np.float32)
    if np.isinf(exact):
        text, level = ("-INFINITY", UNARY) if exact < 0 else ("INFINITY", ATOM)
        return text, level, np.dtype(np.float32)
    digits = str(exact)
    if not any(c in digits for c in ".e"):
        digits += ".0"
    return digits + suffix, UNARY if digits.startswith("-") else ATOM, promoted(dtype)


def negated(term: Term) -> str:
    """Return the text of the negative of a term."""
    text = term.within(UNARY)
    return f"-({text})" if text.startswith("-") else f"-{text}"


def operand(term: Term, level: int) -> str:
    """Return an operand of an operator; compilers warn of ``!`` without parentheses in it."""
    return f"({term.text})" if term.text.startswith("!") else term.within(level)


def tight(term: Term, level: int) -> str:
    """Return a right operand: one that begins with a sign is set apart."""
    text = term.within(level)
    return f"({text})" if level >= PRODUCT and text.startswith("-") else text
