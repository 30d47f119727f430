"""Collects what holds at a place of the program: affine constraints, and other conditions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import gcd
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.decided_conditions import with_answers
from polygen.analysis.integers.isl_affine import by_parts, to_aff
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.validation import polynomial
from polygen.validation.polynomial import (
    Floor,
    Polynomial,
    constant,
    number,
    of_atom,
    plus,
    scaled,
    substituted,
)
from polygen.validation.terms import VARIABLE, Term, Terms, key

_IsInteger: TypeAlias = Callable[[str], bool]


@dataclass
class Facts:
    """A conjunction.

    Attributes:
        affine: polynomials that are affine, and not negative.
        others: by their keys, conditions that are no such constraint; in the terms of where they
            stand.
    """

    affine: list[Polynomial] = field(default_factory=list[Polynomial])
    others: dict[Hashable, tuple[Expression, Terms]] = field(default_factory=new_dict)

    def and_(self, more: Facts) -> Facts:
        """Return what both say together."""
        return Facts([*self.affine, *more.affine], {**self.others, **more.others})

    def add(self, condition: Expression, terms: Terms, is_integer: _IsInteger) -> None:
        """Add a condition.

        Parameters:
            condition: the condition.
            terms: of the place where it stands.
            is_integer: tells whether a variable is an integer.
        """
        if isinstance(condition, ex.LogicalAnd):
            for child in condition.children:
                self.add(child, terms, is_integer)
            return
        if isinstance(condition, ex.LogicalOr | ex.LogicalNot):
            smaller = with_answers(condition, partial(_as_number, terms=terms))
            if smaller is not condition:
                self.add(smaller, terms, is_integer)
                return
        found: list[Polynomial] | None = None
        if isinstance(condition, bool):
            found = [] if condition else [constant(-1)]
        elif isinstance(condition, ex.Comparison):
            left, right = terms.index(condition.left), terms.index(condition.right)
            if _of_integers(left, is_integer) and _of_integers(right, is_integer):
                found = _compared(left, str(condition.operator), right)
        if found is not None and all(is_affine(each, is_integer) for each in found):
            self.affine += found
        else:
            self.others[key(terms.value(condition))] = condition, terms


def _as_number(condition: Expression, terms: Terms) -> Expression:
    """Return whether a comparison of two numbers holds; another condition as it is."""
    if not isinstance(condition, ex.Comparison):
        return condition
    left, right = number(terms.index(condition.left)), number(terms.index(condition.right))
    if left is None or right is None:
        return condition
    return _HOLDS[str(condition.operator)](left, right)


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__,
    "<=": int.__le__,
    "==": int.__eq__,
    "!=": int.__ne__,
    ">=": int.__ge__,
    ">": int.__gt__,
}


def _compared(left: Polynomial, operator: str, right: Polynomial) -> list[Polynomial] | None:
    """Return what is not negative if the comparison holds; None if that says it not all."""
    if operator in ("<", "<="):
        return [_difference(right, left, strictly=operator == "<")]
    if operator in (">", ">="):
        return [_difference(left, right, strictly=operator == ">")]
    if operator == "==":
        return [_difference(left, right), _difference(right, left)]
    return None


def _difference(larger: Polynomial, smaller: Polynomial, *, strictly: bool = False) -> Polynomial:
    """Return what is not negative if one is at least as large as the other.

    A floor in it is multiplied out: ``v < floor(x/16)`` is ``16*v + 16 <= x``.
    """
    value = plus(larger, smaller, -1)
    if strictly:
        value = plus(value, constant(-1))
    floors = [
        m for m, c in value.items() if c in (1, -1) and len(m) == 1 and isinstance(m[0], Floor)
    ]
    if len(floors) != 1:
        return value
    (monomial,) = floors
    (floor,) = monomial
    rest = {m: c for m, c in value.items() if m != monomial}
    if value[monomial] > 0:
        return plus(scaled(rest, floor.divisor), dict(floor.numerator))
    outside = plus(scaled(rest, floor.divisor), constant(floor.divisor - 1))
    return plus(outside, dict(floor.numerator), -1)


def _of_integers(value: Polynomial, is_integer: _IsInteger) -> bool:
    """Tell whether all that a polynomial mentions is an integer: ``x <= x`` fails for NaN."""
    return all(
        is_integer(atom)
        if isinstance(atom, str)
        else isinstance(atom, Floor) and _of_integers(dict(atom.numerator), is_integer)
        for monomial in value
        for atom in monomial
    )


def is_affine(value: Polynomial, is_integer: _IsInteger) -> bool:
    """Tell whether a polynomial is affine in integers."""
    for monomial in value:
        if len(monomial) > 1:
            return False
        for atom in monomial:
            if isinstance(atom, str):
                if not is_integer(atom):
                    return False
            elif not (isinstance(atom, Floor) and is_affine(dict(atom.numerator), is_integer)):
                return False
    return True


def add_loop(
    facts: Facts,
    name: str,
    bounds: tuple[Expression, Expression, int],
    terms: tuple[Terms, Terms],
    is_integer: _IsInteger,
) -> None:
    """Add what holds inside a loop because of it.

    Parameters:
        facts: what is added to.
        name: the loop's variable.
        bounds: the first value, the value past the last one, and the step.
        terms: of the place of the first value, and of that past the last one.
        is_integer: tells whether a variable is an integer.
    """
    lower, upper, step = bounds
    variable = of_atom(name)

    def add(bound: Expression, operator: str, terms: Terms) -> None:
        value = terms.index(bound)
        low, high = (value, variable) if operator == ">=" else (variable, value)
        found = _difference(high, low, strictly=operator == "<")
        if is_affine(found, is_integer):
            facts.affine.append(found)
        else:
            condition = ex.Comparison(ex.Variable(name), operator, bound)
            facts.others[name, operator, key(value)] = condition, _With(name, terms)

    for bound in lower.children if isinstance(lower, ex.Max) else (lower,):
        add(bound, ">=", terms[0])
    for bound in upper.children if isinstance(upper, ex.Min) else (upper,):
        add(bound, "<", terms[1])
    if step != 1:
        distance = ex.sum_of(ex.Variable(name), ex.negated(lower))
        stride = ex.Comparison(ex.Remainder(distance, step), "==", 0)
        facts.add(stride, _With(name, terms[0]), is_integer)


class _With(Terms):
    """The terms of a loop's bounds, and its variable."""

    def __init__(self, name: str, outside: Terms) -> None:
        self._name = name
        self._outside = outside

    def counter(self, name: str) -> Polynomial | None:
        return of_atom(name) if name == self._name else self._outside.counter(name)

    def scalar(self, name: str) -> Term:
        return self._outside.scalar(name)

    def element(self, node: ex.Subscript) -> Term:
        return self._outside.element(node)

    def alias(self, name: str) -> Expression | None:
        return None if name == self._name else self._outside.alias(name)


# --- what follows from what


_Part: TypeAlias = frozenset[tuple[polynomial.Monomial, int]]


def _primitive(value: Polynomial) -> tuple[_Part | None, int]:
    """Return the part that is not constant, in lowest terms, and what it is at least, negated.

    None in place of the part if there is none.
    """
    rest = {m: c for m, c in value.items() if m}
    added = value.get((), 0)
    if not rest:
        return None, added
    common = gcd(*rest.values())
    if common > 1:
        rest = {m: c // common for m, c in rest.items()}
    return frozenset(rest.items()), added // common


class Cone:
    """Constraints, and which others follow from them by addition: a cheap, incomplete test.

    It saves 30 % of the sum and the dG volume of benchmarks/code_generation.py.

    Parameters:
        affine: polynomials that are affine, and not negative.
        steps: what names stand for of which only multiples, or the like, are values.
    """

    def __init__(
        self, affine: Iterable[Polynomial], steps: Mapping[str, Polynomial] = MappingProxyType({})
    ) -> None:
        self._steps = steps
        self._known: dict[_Part, int] = {}
        for each in affine:
            part, bound = _primitive(substituted(each, steps))
            if part is not None and self._known.get(part, bound) >= bound:
                self._known[part] = bound

    def implies(self, value: Polynomial) -> bool:
        """Tell whether a polynomial is certainly not negative."""
        return self._implies(substituted(value, self._steps), depth=2)

    def _implies(self, value: Polynomial, depth: int) -> bool:
        part, bound = _primitive(value)
        if part is None:
            return bound >= 0
        if part in self._known and self._known[part] <= bound:
            return True
        if depth == 0:
            return False
        lowest = plus(dict(part), constant(bound))
        monomial = next(m for m in value if m)
        wanted = lowest[monomial]
        for known, known_bound in self._known.items():
            found = next((c for m, c in known if m == monomial), 0)
            if found * wanted <= 0:
                continue
            # An integer is not negative if a multiple of it is greater than the negative factor.
            common = gcd(found, wanted)
            factor, times = abs(found) // common, abs(wanted) // common
            rest = plus(scaled(lowest, factor), dict(known), -times)
            if self._implies(plus(rest, constant(factor - 1 - times * known_bound)), depth - 1):
                return True
        return False


def all_follow(
    wanted: Sequence[Polynomial], known: Sequence[Polynomial], steps: Mapping[str, Polynomial]
) -> bool:
    """Tell whether constraints follow from others: False where that is not plain."""
    left = [each for each in wanted if each not in known]
    return not left or all(map(Cone(known, steps).implies, left))


def follows_by_a_part(
    condition: Expression, terms: Terms, cone: Cone, is_integer: _IsInteger
) -> bool:
    """Tell whether a condition follows from constraints as ``i < max(n, m)`` does from ``i < n``.

    Parameters:
        condition: the condition.
        terms: of the place where it stands.
        cone: the constraints.
        is_integer: tells whether a variable is an integer.
    """
    several = by_parts(condition)
    for part in several.children if isinstance(several, ex.LogicalOr) else ():
        facts = Facts()
        facts.add(part, terms, is_integer)
        if not facts.others and all(map(cone.implies, facts.affine)):
            return True
    return False


def to_set(affine: Iterable[Polynomial]) -> isl.Set:
    """Return the flat set in which affine polynomials are not negative."""
    result = isl.Set("{ : }")
    for each in affine:
        form = polynomial.linear_form(each)
        result = result.intersect(isl.PwAff.from_aff(to_aff(form)).nonneg_set())
    return result


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """Yield the parts of a conjunction."""
    if isinstance(condition, ex.LogicalAnd):
        for child in condition.children:
            yield from conjuncts(child)
    else:
        yield condition


def plain(node: Expression, terms: Terms) -> Expression:
    """Return an expression of the program in terms of loops, sizes and the kernel's variables."""
    if isinstance(node, ex.Variable):
        alias = terms.alias(node.name)
        return node if alias is None else plain(alias, terms)
    if isinstance(node, ex.Subscript):
        term = terms.element(node)
        if isinstance(term, tuple) and term[0] == VARIABLE:
            return ex.Variable(str(term[1]))
    return walk.rebuild(node, tuple([plain(part, terms) for part in walk.parts(node)]))
