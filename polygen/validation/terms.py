"""Expressions of the kernel and of the loop program in one normal form, to be compared.

Subscripts, bounds and conditions are polynomials.  What is computed is compared as it is written,
for the order of floating-point operations is the user's; only sums and products of inames and
sizes are polynomials there, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    floor_divided,
    number,
    of_atom,
    plus,
    scaled,
    times,
    total,
)

# What a value is compared by: integers known from loops and sizes are polynomials.
Term: TypeAlias = Polynomial | tuple[Hashable, ...]

ELEMENT = "element"  # (ELEMENT, array, offset)
VARIABLE = "variable"  # (VARIABLE, name)


def key(term: Term) -> Hashable:
    """Return something hashable that is equal for equal terms."""
    return frozenset(term.items()) if isinstance(term, dict) else term


class Terms(ABC):
    """Turns expressions into terms: those of one place of the kernel, or of the program."""

    @abstractmethod
    def counter(self, name: str) -> Polynomial | None:
        """Return the value of an iname or a size; None for any other variable."""

    @abstractmethod
    def scalar(self, name: str) -> Term:
        """Return the term of any other variable."""

    @abstractmethod
    def element(self, node: ex.Subscript) -> Term:
        """Return the term of an element of an array."""

    def alias(self, name: str) -> Expression | None:  # noqa: ARG002
        """Return the expression that a name is another name for; None if it is none."""
        return None

    def index(self, node: Expression) -> Polynomial:
        """Return an integer expression as a polynomial."""
        rule = _INDEX_RULES.get(type(node))
        found = None if rule is None else rule(self, node)
        return _as_atom(self.value(node)) if found is None else found

    def value(self, node: Expression) -> Term:
        """Return the term of what is computed."""
        if type(node) is int:
            return constant(node)
        if isinstance(node, ex.Variable):
            found = self.counter(node.name)
            return self.scalar(node.name) if found is None else found
        if isinstance(node, ex.Subscript):
            return self.element(node)
        kind = type(node)
        if not isinstance(node, ex.ExpressionNode):
            return kind.__name__, repr(node)
        parts = [self.value(part) for part in walk.parts(node)]
        if kind in _FOLDED and all(isinstance(part, dict) for part in parts):
            return reduce(_FOLDED[kind], parts)  # type: ignore[arg-type]
        return kind.__name__, _DETAILS.get(kind, _nothing)(node), *map(key, parts)


def _as_atom(term: Term) -> Polynomial:
    """Return a term as a polynomial: a variable by its name alone."""
    if isinstance(term, dict):
        return term
    return of_atom(term[1] if term[0] == VARIABLE else term)


def _nothing(_: Any) -> str:
    return ""


_FOLDED: Mapping[type, Callable[[Polynomial, Polynomial], Polynomial]] = {
    ex.Sum: plus,
    ex.Product: times,
}
# What a node says beside its parts.
_DETAILS: Mapping[type, Callable[[Any], str]] = {
    ex.Comparison: lambda node: str(node.operator),
    ex.Call: lambda node: repr(node.function),
    ex.Component: lambda node: str(node.position),
}

# --- integers

_Rule: TypeAlias = Callable[[Terms, Any], Polynomial | None]


def _variable(terms: Terms, node: ex.Variable) -> Polynomial | None:
    return terms.counter(node.name)


def _sum(terms: Terms, node: ex.Sum) -> Polynomial:
    return total([terms.index(child) for child in node.children])


def _product(terms: Terms, node: ex.Product) -> Polynomial:
    return reduce(times, [terms.index(child) for child in node.children])


def _floor_div(terms: Terms, node: ex.FloorDiv) -> Polynomial | None:
    divisor = number(terms.index(node.denominator))
    return _divided(terms.index(node.numerator), divisor) if divisor else None


def _divided(value: Polynomial, divisor: int) -> Polynomial:
    return floor_divided(scaled(value, -1 if divisor < 0 else 1), abs(divisor))


def _remainder(terms: Terms, node: ex.Remainder) -> Polynomial | None:
    size = terms.index(node.denominator)
    divisor, value = number(size), terms.index(node.numerator)
    if divisor == 0:
        return None
    if divisor is None:  # what it is where it is something: for a size that is not 0
        floor = _as_atom(terms.value(ex.FloorDiv(node.numerator, node.denominator)))
        return plus(value, times(size, floor), -1)
    return plus(value, _divided(value, divisor), -divisor)


def _power_of_two(terms: Terms, node: Expression) -> int | None:
    shift = number(terms.index(node))
    return 1 << shift if shift is not None and 0 <= shift < 63 else None


def _left_shift(terms: Terms, node: ex.LeftShift) -> Polynomial | None:
    factor = _power_of_two(terms, node.shift)
    return None if factor is None else scaled(terms.index(node.shiftee), factor)


def _right_shift(terms: Terms, node: ex.RightShift) -> Polynomial | None:
    divisor = _power_of_two(terms, node.shift)
    return None if divisor is None else floor_divided(terms.index(node.shiftee), divisor)


def _power(terms: Terms, node: ex.Power) -> Polynomial | None:
    base, exponent = number(terms.index(node.base)), number(terms.index(node.exponent))
    if base is None or exponent is None or not 0 <= exponent < 63:
        return None
    return constant(base**exponent)


def _integer(_: Terms, node: Any) -> Polynomial:
    return constant(int(node))


_INDEX_RULES: Mapping[type, _Rule] = {
    int: lambda _, node: {(): node} if node else {},
    ex.Variable: _variable,
    ex.Sum: _sum,
    ex.Product: _product,
    ex.FloorDiv: _floor_div,
    ex.Remainder: _remainder,
    ex.LeftShift: _left_shift,
    ex.RightShift: _right_shift,
    ex.Power: _power,
    **dict.fromkeys((np.int8, np.int16, np.int32, np.int64), _integer),
    **dict.fromkeys((np.uint8, np.uint16, np.uint32, np.uint64), _integer),
}
