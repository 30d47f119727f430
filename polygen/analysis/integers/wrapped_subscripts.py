"""Subscripts that count from the end of an axis where they are negative, as NumPy's do.

``a[p[i]]`` becomes ``a[if(p[i] < 0, n + p[i], p[i])]`` along an axis of extent ``n``.
"""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.expression import Expression


def wrapped(subscript: Expression, extent: Expression) -> ex.If:
    """Return the place along an axis that a subscript, negative or not, stands for."""
    return ex.If(ex.Comparison(subscript, "<", 0), ex.sum_of(subscript, extent), subscript)


def unwrapped(place: Expression, extent: Expression) -> Expression | None:
    """Return the subscript that stands for a place, or None if `wrapped` has not made this one."""
    if isinstance(place, ex.If) and place == wrapped(place.else_, extent):
        return place.else_
    return None
