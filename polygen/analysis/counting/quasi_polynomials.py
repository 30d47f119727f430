"""Quasi-polynomials: polynomials in names and in floors of affine forms, with exact fractions.

``n**2/2 + n/2`` is one, ``3*floor(n/4)`` is another.  Sums of them over ranges of an integer are
quasi-polynomials again, by Faulhaber's formula; isl has them, and does not sum them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, reduce
from math import comb, gcd
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term, combine
from polygen.ir.empty import NO_NAMES

Monomial: TypeAlias = tuple[Term, ...]  # a product, its factors sorted


class QuasiPolynomial:
    """A sum of products of names and floors, each times a fraction.

    Attributes:
        terms: the coefficient of each product, never 0.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms: Mapping[Monomial, Fraction] = {m: c for m, c in terms.items() if c}

    @staticmethod
    def constant(value: int | Fraction) -> QuasiPolynomial:
        """Return a number."""
        return QuasiPolynomial({(): Fraction(value)})

    @staticmethod
    def of_form(form: LinearForm) -> QuasiPolynomial:
        """Return an affine form as a quasi-polynomial."""
        terms: dict[Monomial, Fraction] = {(t,): Fraction(c) for t, c in form.terms.items()}
        terms[()] = Fraction(form.constant)
        return QuasiPolynomial(terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuasiPolynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: QuasiPolynomial) -> QuasiPolynomial:
        found = dict(self.terms)
        for monomial, factor in other.terms.items():
            found[monomial] = found.get(monomial, Fraction()) + factor
        return QuasiPolynomial(found)

    def __sub__(self, other: QuasiPolynomial) -> QuasiPolynomial:
        return self + other * -1

    def __mul__(self, other: QuasiPolynomial | int | Fraction) -> QuasiPolynomial:
        if not isinstance(other, QuasiPolynomial):
            return QuasiPolynomial({m: c * other for m, c in self.terms.items()})
        found: dict[Monomial, Fraction] = {}
        for first, factor in self.terms.items():
            for second, times in other.terms.items():
                product = tuple(sorted((*first, *second), key=_term_text))
                found[product] = found.get(product, Fraction()) + factor * times
        return QuasiPolynomial(found)

    def __pow__(self, exponent: int) -> QuasiPolynomial:
        return reduce(QuasiPolynomial.__mul__, [self] * exponent, QuasiPolynomial.constant(1))

    @property
    def is_constant(self) -> bool:
        """Whether it mentions nothing."""
        return all(not monomial for monomial in self.terms)

    def factors(self) -> frozenset[Term]:
        """Return the names and floors that it mentions; what is inside of floors is not among."""
        return frozenset(term for monomial in self.terms for term in monomial)

    def names(self) -> frozenset[str]:
        """Return every name that it mentions, inside floors too."""
        return NO_NAMES.union(*map(names_of, self.factors()))

    def substituted(self, name: str, value: LinearForm) -> QuasiPolynomial:
        """Return it with an affine form in the place of a name, inside floors too."""
        concerned = [t for t in self.factors() if name in names_of(t)]
        return self.replaced(
            {t: QuasiPolynomial.of_form(substituted_term(t, name, value)) for t in concerned}
        )

    def replaced(self, values: Mapping[Term, QuasiPolynomial]) -> QuasiPolynomial:
        """Return it with quasi-polynomials in the place of names and floors."""
        if not values:
            return self
        found = QuasiPolynomial({})
        for monomial, factor in self.terms.items():
            kept = tuple(t for t in monomial if t not in values)
            product = QuasiPolynomial({kept: factor})
            for term in monomial:
                if term in values:
                    product = product * values[term]
            found = found + product
        return found

    def powers_of(self, name: str) -> dict[int, QuasiPolynomial]:
        """Return the coefficient of each power of a name that is in no floor here."""
        found: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, factor in self.terms.items():
            rest = tuple(t for t in monomial if t != name)
            found.setdefault(len(monomial) - len(rest), {})[rest] = factor
        return {power: QuasiPolynomial(terms) for power, terms in found.items()}

    def text(self) -> str:
        """Return it in isl's notation."""
        return " + ".join(sorted([_monomial_text(m, c) for m, c in self.terms.items()])) or "0"


def names_of(term: Term) -> frozenset[str]:
    """Return the names in a name or a floor."""
    return frozenset((term,)) if isinstance(term, str) else term.numerator.names()


def substituted_term(term: Term, name: str, value: LinearForm) -> LinearForm:
    """Return what a name or a floor is with an affine form in the place of a name."""
    if isinstance(term, str):
        return value if term == name else LinearForm.of_name(term)
    return substituted_form(term.numerator, name, value) // term.divisor


def substituted_form(form: LinearForm, name: str, value: LinearForm) -> LinearForm:
    """Return an affine form with another one in the place of a name, inside floors too."""
    if name not in form.names():
        return form
    parts = [(substituted_term(t, name, value), c) for t, c in form.terms.items()]
    return combine([(LinearForm(form.constant), 1), *parts])


# --- sums


def period(polynomial: QuasiPolynomial, name: str) -> int:
    """Return after how many values of a name the innermost floors that have it repeat.

    1 if no floor has it.  With ``name = period*new + r``, these floors are affine in the new name.
    """
    found = 1
    for term in polynomial.factors():
        if isinstance(term, FloorTerm) and name in names_of(term):
            step = _period(term, name)
            found = found * step // gcd(found, step)
    return found


def _period(term: FloorTerm, name: str) -> int:
    inner = [t for t in term.numerator.terms if isinstance(t, FloorTerm) and name in names_of(t)]
    if inner:
        return _period(inner[0], name)
    return term.divisor // gcd(term.divisor, term.numerator.terms.get(name, 0))


def sum_over(
    polynomial: QuasiPolynomial, name: str, first: LinearForm, last: LinearForm
) -> QuasiPolynomial:
    """Return the sum over a name that is in no floor, from `first` to `last`.

    It is right where ``last >= first - 1``: 0 where there is no value.
    """
    upper, before = QuasiPolynomial.of_form(last), QuasiPolynomial.of_form(first - 1)
    total = QuasiPolynomial({})
    for power, factor in polynomial.powers_of(name).items():
        for degree, number in enumerate(_faulhaber(power)):
            if number:
                total = total + factor * (upper**degree - before**degree) * number
    return total


@cache
def _faulhaber(power: int) -> tuple[Fraction, ...]:
    """Return the coefficients of ``1**power + ... + x**power``, a polynomial in x.

    Faulhaber's formula: sum(comb(p+1, k) * B_k * x**(p+1-k), k = 0...p) / (p+1), with Bernoulli's
    numbers, of which B_1 is 1/2.
    """
    found = [Fraction()] * (power + 2)
    for k in range(power + 1):
        found[power + 1 - k] = comb(power + 1, k) * _bernoulli(k) / (power + 1)
    return tuple(found)


@cache
def _bernoulli(k: int) -> Fraction:
    if k == 0:
        return Fraction(1)
    lower = sum((comb(k + 1, j) * _minus(j) for j in range(k)), Fraction())
    return -lower / (k + 1) if k != 1 else Fraction(1, 2)


def _minus(k: int) -> Fraction:
    """Return Bernoulli's number with B_1 = -1/2, as its recurrence has it."""
    return Fraction(-1, 2) if k == 1 else _bernoulli(k)


# --- isl's notation


def form_text(form: LinearForm) -> str:
    """Return an affine form in isl's notation."""
    parts = sorted([f"{c}*{_term_text(t)}" for t, c in form.terms.items()])
    return " + ".join([str(form.constant), *parts])


def _term_text(term: Term) -> str:
    if isinstance(term, str):
        return term
    return f"floor(({form_text(term.numerator)})/{term.divisor})"


def _monomial_text(monomial: Monomial, factor: Fraction) -> str:
    number = f"({factor.numerator})" if factor.denominator == 1 else f"({factor})"
    return " * ".join([number, *map(_term_text, monomial)])
