"""Functions of C's mathematical library that NumPy lacks: of numbers and arrays, as NumPy's are.

They are plain functions of Python, too: what compiled functions call may run without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, array_of
from polygen.python.names.elementwise import function_named
from polygen.python.operators import Rule
from polygen.python.refused import Refused
from polygen.python.values import Number, Value, constant_number

# The type of a result is that of one of NumPy's functions.
_OF_ONE, _OF_TWO = np.exp, np.arctan2


def _each(function: Callable[..., float], like: np.ufunc, *given: Any) -> Any:
    """Return what a function of Python's makes of each element, in NumPy's type."""
    with np.errstate(all="ignore"):
        dtype: np.dtype = like(*given).dtype
        found: Any = np.frompyfunc(function, len(given), 1)(*given)
    return found.astype(dtype) if hasattr(found, "astype") else dtype.type(found)


def erf(x: Any) -> Any:
    """Return the error function.

    Parameters:
        x: a number, or an array.

    >>> round(float(erf(1.0)), 6)
    0.842701
    """
    return _each(math.erf, _OF_ONE, x)


def erfc(x: Any) -> Any:
    """Return 1 minus the error function, exact where that is small.

    Parameters:
        x: a number, or an array.
    """
    return _each(math.erfc, _OF_ONE, x)


def tgamma(x: Any) -> Any:
    """Return the gamma function: no number at negative integers, as C has it.

    Parameters:
        x: a number, or an array.

    >>> float(tgamma(5.0))
    24.0
    """
    return _each(_gamma, _OF_ONE, x)


def lgamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function.

    Parameters:
        x: a number, or an array.
    """
    return _each(_log_gamma, _OF_ONE, x)


def fdim(x: Any, y: Any) -> Any:
    """Return ``x - y`` where that is positive, else 0.

    Parameters:
        x: a number, or an array.
        y: what is subtracted.

    >>> float(fdim(5.0, 3.0)), float(fdim(3.0, 5.0))
    (2.0, 0.0)
    """
    return _each(_positive_difference, _OF_TWO, x, y)


def fma(x: Any, y: Any, z: Any) -> Any:
    """Return ``x*y + z``, rounded once.

    Parameters:
        x: a number, or an array.
        y: what it is multiplied by.
        z: what is added.

    >>> float(fma(3.0, 2.0, 1.0))
    7.0
    """
    dtype = _OF_THREE.type_of(np.result_type(x, y, z))
    with np.errstate(all="ignore"):
        found: Any = np.frompyfunc(partial(_rounded_once, dtype.type), 3, 1)(x, y, z)
    return found.astype(dtype) if hasattr(found, "astype") else found


class _OfThree:
    """Knows the types of a function of three operands, as NumPy's functions do of two."""

    nin, nout = 3, 1

    def type_of(self, common: np.dtype) -> np.dtype:
        """Return the type of results for operands of one type."""
        return _OF_TWO.resolve_dtypes((common, common, None))[-1]

    def resolve_dtypes(self, asked: Sequence[Any]) -> tuple[np.dtype, ...]:
        """Return the types of operands and of the result."""
        found, *others = sorted(asked[: self.nin], key=lambda one: isinstance(one, type))
        for other in others:  # numbers of Python's come last, and take the type
            found = _OF_TWO.resolve_dtypes((found, other, None))[-1]
        return (found,) * 4


_OF_THREE: Any = _OfThree()


def _rounded_once(kind: type[Any], *given: Any) -> Any:
    """Return the number of a type that is nearest to ``x*y + z``."""
    x, y, z = (float(kind(one)) for one in given)
    if not all(map(math.isfinite, (x, y, z))):
        return kind(x * y + z)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        return kind(x * y + z)  # which has the sign
    try:
        near = kind(float(exact))
    except OverflowError:
        return kind(math.inf if exact > 0 else -math.inf)
    if not np.isfinite(near):
        return near
    # What was rounded twice may be a neighbour.
    several = [near, *[np.nextafter(near, kind(end)) for end in (-math.inf, math.inf)]]
    several = [one for one in several if np.isfinite(one)]
    return min(several, key=lambda one: abs(Fraction(float(one)) - exact))


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _log_gamma(x: float) -> float:
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _positive_difference(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x - y if x > y else 0.0


def _row(function: Callable[..., Any], like: np.ufunc) -> Row:
    name: str = function.__name__
    rule = Rule(name, like, function_named(name))

    def row(trace: Expressions, *operands: Value) -> Value:
        given = [array_of(trace, one) for one in operands]
        if len(given) != like.nin:
            raise Refused(f"'{name}' has {like.nin} operands")
        values = [one.value for one in given if isinstance(one, Number) and one.is_constant]
        if len(values) == len(given):
            return constant_number(function(*values))
        return trace.elementwise(rule, given)

    return row


FUNCTIONS: tuple[Callable[..., Any], ...] = (erf, erfc, tgamma, lgamma, fdim, fma)
ROWS: dict[Any, Row] = {
    **{one: _row(one, _OF_ONE) for one in FUNCTIONS[:4]},
    fdim: _row(fdim, _OF_TWO),
    fma: _row(fma, _OF_THREE),
}
