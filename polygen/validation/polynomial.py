"""Integer expressions as polynomials: equal ones are written alike.

A polynomial maps each monomial, a sorted tuple of atoms, to its coefficient, never 0.  An atom is
a name, a floor, or anything else that is hashable and stands for one value.  Offsets such as
``(16*i + j)*n + k`` are polynomials and not affine: so they are compared here, and not by isl.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm

Monomial: TypeAlias = tuple[Any, ...]
Polynomial: TypeAlias = dict[Monomial, int]


@dataclass(frozen=True, slots=True)
class Floor:
    """``floor(numerator / divisor)``; the coefficients inside are from 0 to the divisor."""

    numerator: frozenset[tuple[Monomial, int]]
    divisor: int


def constant(value: int) -> Polynomial:
    """Return a number."""
    return {(): value} if value else {}


def of_atom(atom: object) -> Polynomial:
    """Return an atom, once."""
    return {(atom,): 1}


def plus(first: Polynomial, second: Polynomial, factor: int = 1) -> Polynomial:
    """Return ``first + factor*second``."""
    result = dict(first)
    for monomial, coefficient in second.items():
        total = result.get(monomial, 0) + factor * coefficient
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def total(parts: Iterable[Polynomial]) -> Polynomial:
    """Return the sum."""
    result: Polynomial = {}
    for part in parts:
        for monomial, coefficient in part.items():
            result[monomial] = result.get(monomial, 0) + coefficient
    return {m: c for m, c in result.items() if c}


def times(first: Polynomial, second: Polynomial) -> Polynomial:
    """Return the product."""
    for value, other in ((first, second), (second, first)):
        if len(value) == 1 and () in value:
            return other if value[()] == 1 else scaled(other, value[()])
    result: Polynomial = {}
    for a, x in first.items():
        for b, y in second.items():
            monomial = tuple(sorted((*a, *b), key=str)) if a and b else a or b
            total = result.get(monomial, 0) + x * y
            if total:
                result[monomial] = total
            else:
                del result[monomial]
    return result


def scaled(value: Polynomial, factor: int) -> Polynomial:
    """Return the polynomial times a number."""
    return {m: factor * c for m, c in value.items()} if factor else {}


def floor_divided(value: Polynomial, divisor: int) -> Polynomial:
    """Return ``floor(value / divisor)``, for a divisor greater than 0.

    Where the parts are integers, as they are here, equal floors of affine values become equal.
    """
    whole: Polynomial = {}
    rest: Polynomial = {}
    for monomial, coefficient in value.items():
        quotient, remainder = divmod(coefficient, divisor)
        if quotient:
            whole[monomial] = quotient
        if remainder:
            rest[monomial] = remainder
    added = rest.pop((), 0)
    if not rest:
        return whole
    common = gcd(divisor, *rest.values())
    rest = {m: c // common for m, c in rest.items()}
    added, divisor = added // common, divisor // common
    if divisor == 1:
        return plus(whole, {**rest, **constant(added)})
    ((monomial, coefficient), *others) = rest.items()
    atom = monomial[0]
    if not others and coefficient == 1 and len(monomial) == 1 and isinstance(atom, Floor):
        inner = plus(dict(atom.numerator), constant(added * atom.divisor))
        return plus(whole, floor_divided(inner, atom.divisor * divisor))
    floor = Floor(frozenset({**rest, **constant(added)}.items()), divisor)
    return plus(whole, of_atom(floor))


def substituted(value: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """Return an affine polynomial with values in place of names, outside of floors and inside."""
    if not values:
        return value
    result: Polynomial = {}
    for monomial, coefficient in value.items():
        atom = monomial[0] if monomial else None
        if isinstance(atom, str) and atom in values:
            result = plus(result, values[atom], coefficient)
        elif isinstance(atom, Floor):
            inner = substituted(dict(atom.numerator), values)
            result = plus(result, floor_divided(inner, atom.divisor), coefficient)
        else:
            result = plus(result, {monomial: 1}, coefficient)
    return result


def divided(value: Polynomial, divisor: int) -> Polynomial | None:
    """Return the polynomial divided by a number; None if that leaves a remainder somewhere."""
    if any(coefficient % divisor for coefficient in value.values()):
        return None
    return {m: c // divisor for m, c in value.items()}


def number(value: Polynomial) -> int | None:
    """Return the number that it is, or None if it is none."""
    if not value:
        return 0
    return value[()] if len(value) == 1 and () in value else None


def names(value: Polynomial) -> set[str] | None:
    """Return the names of an affine polynomial, those in floors too; None if it is not affine."""
    found: set[str] = set()
    for monomial in value:
        if len(monomial) > 1:
            return None
        for atom in monomial:
            if isinstance(atom, str):
                found.add(atom)
                continue
            inner = names(dict(atom.numerator)) if isinstance(atom, Floor) else None
            if inner is None:
                return None
            found |= inner
    return found


def linear_form(value: Polynomial) -> LinearForm:
    """Return an affine polynomial as a linear form."""
    terms: dict[Any, int] = {}
    for monomial, coefficient in value.items():
        for atom in monomial:
            term = (
                FloorTerm(linear_form(dict(atom.numerator)), atom.divisor)
                if isinstance(atom, Floor)
                else atom
            )
            terms[term] = coefficient
    return LinearForm(value.get((), 0), terms)
