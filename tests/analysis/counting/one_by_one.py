"""Sums over polyhedra, point by point; what is summed is written as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from polygen.analysis.counting.polyhedra import Problem
from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term, linear_form
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression

BOX = range(-6, 12)


def form(text: str) -> LinearForm:
    """Return the affine form that a text is."""
    found = linear_form(parse_expression(text))
    assert found is not None, text
    return found


def forms(text: str) -> tuple[LinearForm, ...]:
    """Return the affine forms between semicolons."""
    return tuple([form(part) for part in text.split(";") if part.strip()])


def polynomial(text: str) -> QuasiPolynomial:
    """Return the quasi-polynomial that a sum of products is."""
    return _polynomial(parse_expression(text))


def _polynomial(node: Expression) -> QuasiPolynomial:
    if isinstance(node, ex.Sum):
        return reduce(QuasiPolynomial.__add__, map(_polynomial, node.children))
    if isinstance(node, ex.Product):
        return reduce(QuasiPolynomial.__mul__, map(_polynomial, node.children))
    found = linear_form(node)
    assert found is not None, node
    return QuasiPolynomial.of_form(found)


def problem(names: str, bounds: str, zeros: str = "", summand: str = "1") -> Problem:
    """Return a problem: names between spaces, forms between semicolons."""
    return Problem(frozenset(names.split()), forms(bounds), forms(zeros), polynomial(summand))


def value_of(what: QuasiPolynomial, values: Mapping[str, int]) -> Fraction:
    """Return the value of a quasi-polynomial for given values of names."""
    found = (c * prod(_term(term, values) for term in m) for m, c in what.terms.items())
    return sum(found, Fraction())


def _term(term: Term, values: Mapping[str, Any]) -> Any:
    if isinstance(term, FloorTerm):
        return term.numerator.evaluate(values) // term.divisor
    return values[term]


def total(what: Problem, sizes: Mapping[str, int], box: Iterable[int] = BOX) -> Fraction:
    """Return the sum over the points of a problem, all of which are within a box."""
    names = sorted(what.names)
    grid = np.meshgrid(*[np.array([*box])] * len(names), indexing="ij")
    values = {**sizes, **dict(zip(names, grid, strict=True))}
    there = np.ones(tuple(len([*box]) for _ in names), bool)
    for bound in what.bounds:
        there &= bound.evaluate(values) >= 0
    for zero in what.zeros:
        there &= zero.evaluate(values) == 0
    for axis in range(len(names)):
        assert not there.take([0, -1], axis).any(), "there are points outside of the box"
    found = Fraction()
    for monomial, factor in what.summand.terms.items():
        each = prod(_term(term, values) for term in monomial) * there.astype(np.int64)
        found += factor * int(each.sum())
    return found
