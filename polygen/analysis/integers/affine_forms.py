"""Integer expressions in a normal form: a constant, multiples of names, multiples of floors.

This is the cheap half of affine arithmetic: plain Python, a few microseconds an expression.
`polygen.analysis.integers.isl_affine` goes on from here to isl and back.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any, TypeAlias

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.walk import free_variables, rewrite


class LinearForm:
    """``constant + sum(coefficient * term)``, where a term is a name or a floor.

    Equal forms have equal values everywhere.  The reverse holds without floors; with floors, two
    forms may differ although their values agree.

    Attributes:
        constant: the constant.
        terms: the coefficient of each term, never 0.
    """

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: int = 0, terms: Mapping[Term, int] | None = None) -> None:
        self.constant = constant
        self.terms: Mapping[Term, int] = {} if terms is None else terms
        self._hash: int | None = None

    @staticmethod
    def of_name(name: str) -> LinearForm:
        """Return the form of a single variable."""
        return LinearForm(0, {name: 1})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearForm):
            return NotImplemented
        return self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        parts = [f"{c}*{t}" for t, c in self.terms.items()]
        return f"LinearForm({' + '.join([*parts, str(self.constant)])})"

    def __add__(self, other: LinearForm | int) -> LinearForm:
        if isinstance(other, int):
            return LinearForm(self.constant + other, self.terms)
        return combine(((self, 1), (other, 1)))

    def __sub__(self, other: LinearForm | int) -> LinearForm:
        if isinstance(other, int):
            return LinearForm(self.constant - other, self.terms)
        return combine(((self, 1), (other, -1)))

    def __neg__(self) -> LinearForm:
        return self * -1

    def __mul__(self, factor: int) -> LinearForm:
        if factor == 1:
            return self
        if factor == 0:
            return LinearForm()
        return LinearForm(self.constant * factor, {t: c * factor for t, c in self.terms.items()})

    def __floordiv__(self, divisor: int) -> LinearForm:
        return _floor_divide(self, divisor)

    def __mod__(self, divisor: int) -> LinearForm:
        return combine(((self, 1), (_floor_divide(self, divisor), -divisor)))

    @property
    def is_constant(self) -> bool:
        """Whether it mentions nothing."""
        return not self.terms

    def names(self) -> frozenset[str]:
        """Return every name that it mentions, inside floors too."""
        found = [term for term in self.terms if isinstance(term, str)]
        inside = [term.numerator.names() for term in self.terms if isinstance(term, FloorTerm)]
        return frozenset(found).union(*inside)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return its value for these values of its names."""
        total = self.constant
        for term, factor in self.terms.items():
            if isinstance(term, str):
                total += factor * values[term]
            else:
                total += factor * (term.numerator.evaluate(values) // term.divisor)
        return total

    def expression(self) -> Expression:
        """Return it as an expression that reads well: ``16*io + ii``, ``n - 1 - i``, ``i % 4``."""
        return _expression(self)


@dataclass(frozen=True, slots=True)
class FloorTerm:
    """``floor(numerator / divisor)``, in lowest terms, the divisor greater than 1."""

    numerator: LinearForm
    divisor: int


Term: TypeAlias = str | FloorTerm


def combine(parts: Iterable[tuple[LinearForm, int]]) -> LinearForm:
    """Return the sum of the forms, each times its factor."""
    constant = 0
    terms: dict[Term, int] = {}
    for form, factor in parts:
        constant += form.constant * factor
        for term, coefficient in form.terms.items():
            terms[term] = terms.get(term, 0) + coefficient * factor
    return LinearForm(constant, {t: c for t, c in terms.items() if c})


# --- division


def _floor_divide(form: LinearForm, divisor: int) -> LinearForm:
    if divisor == 0:
        raise ZeroDivisionError("a linear form divided by 0")
    if divisor < 0:
        form, divisor = -form, -divisor
    if divisor == 1:
        return form
    # What divides evenly comes out of the floor; so does what exceeds the divisor.
    outside: dict[Term, int] = {}
    inside: dict[Term, int] = {}
    for term, coefficient in form.terms.items():
        whole = abs(coefficient) // divisor * (1 if coefficient > 0 else -1)
        if whole:
            outside[term] = whole
        if rest := coefficient - whole * divisor:
            inside[term] = rest
    whole, constant = divmod(form.constant, divisor)
    result = LinearForm(whole, outside)
    if not inside:
        return result
    # The terms are integers: with a common factor g, floor((g*x + c)/(g*d)) = floor((x + c//g)/d).
    common = gcd(divisor, *inside.values())
    if common > 1:
        inside = {t: c // common for t, c in inside.items()}
        constant, divisor = constant // common, divisor // common
    return combine(((result, 1), (_merge_floors(LinearForm(constant, inside), divisor), 1)))


def _merge_floors(numerator: LinearForm, divisor: int) -> LinearForm:
    # floor((floor(x/a) + c)/b) = floor((x + a*c)/(a*b))
    if len(numerator.terms) == 1:
        ((term, coefficient),) = numerator.terms.items()
        if isinstance(term, FloorTerm) and coefficient == 1:
            inner = term.numerator + numerator.constant * term.divisor
            return _floor_divide(inner, term.divisor * divisor)
    return LinearForm(0, {FloorTerm(numerator, divisor): 1})


# --- from expressions

_Names: TypeAlias = Container[str] | None


def linear_form(expr: Expression, names: _Names = None) -> LinearForm | None:
    """Return the normal form of an integer expression, or None if it is not affine.

    Sums, differences, products with constants, and ``//`` and ``%`` (of Python's meaning) and
    shifts by constants are affine; so are minima, maxima and powers of constants.

    Parameters:
        expr: the expression.
        names: the names that may occur; None for all.  An expression that mentions another is
            not affine: its value is not known from the loops and parameters alone.
    """
    if type(expr) is int:  # a truth value is no subscript
        return LinearForm(expr)
    if isinstance(expr, ex.Variable):
        known = names is None or expr.name in names
        return LinearForm(0, {expr.name: 1}) if known else None
    rule = _RULES.get(type(expr))
    if rule is not None:
        # Nodes do not change: the answer for all names is kept in them.
        kept: dict[str, Any] = expr.__dict__
        if _FORM not in kept:
            kept[_FORM] = rule(expr, None)
        form: LinearForm | None = kept[_FORM]
        if form is None or names is None or all(n in names for n in free_variables(expr)):
            return form
        return None
    return LinearForm(int(expr)) if isinstance(expr, np.integer) else None


_FORM = "linear form of it"


def _sum(node: Any, names: _Names) -> LinearForm | None:
    parts: list[tuple[LinearForm, int]] = []
    for child in node.children:
        form = linear_form(child, names)
        if form is None:
            return None
        parts.append((form, 1))
    return combine(parts)


def _product(node: Any, names: _Names) -> LinearForm | None:
    factor = 1
    variable: LinearForm | None = None
    for child in node.children:
        form = linear_form(child, names)
        if form is None:
            return None
        if form.is_constant:
            factor *= form.constant
        elif variable is None:
            variable = form
        else:
            return None
    return LinearForm(factor) if variable is None else variable * factor


def _with_constant(
    left: Expression, right: Expression, names: _Names
) -> tuple[LinearForm, int] | None:
    numerator, constant = linear_form(left, names), linear_form(right, names)
    if numerator is None or constant is None or not constant.is_constant:
        return None
    return numerator, constant.constant


def _floor_div(node: Any, names: _Names) -> LinearForm | None:
    pair = _with_constant(node.numerator, node.denominator, names)
    return None if pair is None or pair[1] == 0 else pair[0] // pair[1]


def _remainder(node: Any, names: _Names) -> LinearForm | None:
    pair = _with_constant(node.numerator, node.denominator, names)
    return None if pair is None or pair[1] == 0 else pair[0] % pair[1]


_MOST_BITS = 62  # what a shift may move by and still mean something for 64-bit integers


def _left_shift(node: Any, names: _Names) -> LinearForm | None:
    pair = _with_constant(node.shiftee, node.shift, names)
    return None if pair is None or not 0 <= pair[1] <= _MOST_BITS else pair[0] * (1 << pair[1])


def _right_shift(node: Any, names: _Names) -> LinearForm | None:
    pair = _with_constant(node.shiftee, node.shift, names)
    return None if pair is None or not 0 <= pair[1] <= _MOST_BITS else pair[0] // (1 << pair[1])


def _power(node: Any, names: _Names) -> LinearForm | None:
    pair = _with_constant(node.base, node.exponent, names)
    if pair is None or not pair[0].is_constant or not 0 <= pair[1] <= _MOST_BITS:
        return None
    return LinearForm(pair[0].constant ** pair[1])


def _extremum(node: Any, names: _Names) -> LinearForm | None:
    """Return the least, or the greatest, of constants."""
    forms = [linear_form(child, names) for child in node.children]
    constants = [form.constant for form in forms if form is not None and form.is_constant]
    if len(constants) < len(forms):
        return None
    return LinearForm(min(constants) if isinstance(node, ex.Min) else max(constants))


_RULES: dict[type, Callable[[Any, _Names], LinearForm | None]] = {
    ex.Sum: _sum,
    ex.Product: _product,
    ex.FloorDiv: _floor_div,
    ex.Remainder: _remainder,
    ex.LeftShift: _left_shift,
    ex.RightShift: _right_shift,
    ex.Power: _power,
    ex.Min: _extremum,
    ex.Max: _extremum,
}

# --- to expressions


def _expression(form: LinearForm) -> Expression:
    constant, terms = form.constant, dict(form.terms)
    pairs: list[tuple[str, Expression, int]] = []
    for term in form.terms:
        if isinstance(term, FloorTerm) and (found := _as_remainder(term, terms)):
            node, factor, added = found
            pairs.append((_sort_key(term), node, factor))
            constant += added
    pairs += [(_sort_key(t), _term_expression(t), c) for t, c in terms.items()]
    # Sorted, lest the order depend on how the form came about.
    pairs.sort(key=lambda pair: (-abs(pair[2]), pair[0]))
    added_terms: list[Expression] = [_scaled(n, c) for _, n, c in pairs if c > 0]
    taken_away: list[Expression] = [ex.negated(_scaled(n, -c)) for _, n, c in pairs if c < 0]
    # The constant stands before what is subtracted, unless it would come first and negative.
    if constant and (added_terms or constant > 0 or not taken_away):
        children = [*added_terms, constant, *taken_away]
    else:
        children = [*added_terms, *taken_away, *([constant] if constant else [])]
    if not children:
        return 0
    return children[0] if len(children) == 1 else ex.sum_of(*children)


def with_normal_subscripts(node: Expression) -> Expression:
    """Return an expression in which equal terms of affine subscripts are one."""
    return rewrite(node, _with_normal_index)


def _with_normal_index(node: Expression) -> Expression:
    if not isinstance(node, ex.Subscript):
        return node
    forms = [(index, linear_form(index)) for index in ex.index_tuple(node)]
    index = tuple([old if form is None else form.expression() for old, form in forms])
    return ex.element(ex.Variable(ex.name_of(node)), index)


def _sort_key(term: Term) -> str:
    if isinstance(term, str):
        return term
    # After all names.
    return f"~{term.divisor} {sorted(map(_sort_key, term.numerator.terms))}"


def _as_remainder(term: FloorTerm, terms: dict[Term, int]) -> tuple[Expression, int, int] | None:
    """Recognise ``f*x - f*d*floor(x/d)`` as ``f*(x % d)``, and take it out of `terms`.

    Returns the remainder, its factor, and what is left to add.
    """
    coefficient = terms.get(term, 0)
    if coefficient % term.divisor:
        return None
    factor = -coefficient // term.divisor
    inner = term.numerator
    if factor == 0 or any(terms.get(t, 0) != factor * c for t, c in inner.terms.items()):
        return None
    for name in (term, *inner.terms):
        del terms[name]
    dividend: Any = _expression(inner)
    return ex.Remainder(dividend, term.divisor), factor, -factor * inner.constant


# Nodes keep what is asked of them often: it pays to have few.
_variable = lru_cache(maxsize=1024)(ex.Variable)


def _term_expression(term: Term) -> Expression:
    if isinstance(term, str):
        return _variable(term)
    dividend: Any = _expression(term.numerator)
    return ex.FloorDiv(dividend, term.divisor)


def _scaled(node: Expression, factor: int) -> Expression:
    return node if factor == 1 else ex.product_of(factor, node)
