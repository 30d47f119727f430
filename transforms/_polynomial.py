"""Expressions multiplied out: whether two are the same numbers, but for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

# What is multiplied, by its texts, sorted; and the inames that it is added up over.
_Term: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
Polynomial: TypeAlias = Mapping[_Term, int]

_NOT_DIVISIBLE = "1/("


def multiplied_out(node: Expression) -> Polynomial:
    """Return an expression as a sum of products.

    Conditions count as factors that are 0 or 1.  What is something else than an integer, a sum, a
    product, a quotient, a choice or the reduction ``sum`` stands for itself.
    """
    if isinstance(node, int | float) and node == 0:
        return {}
    if isinstance(node, int):
        return {((), ()): int(node)}
    if isinstance(node, ex.Sum):
        return _sum([multiplied_out(term) for term in node.children])
    if isinstance(node, ex.Product):
        return reduce(_product, [multiplied_out(factor) for factor in node.children])
    if isinstance(node, ex.Quotient):
        below = f"{_NOT_DIVISIBLE}{show_expression(node.denominator)})"
        return _product(multiplied_out(node.numerator), _one(below))
    if isinstance(node, ex.If):
        holds, fails = (f"{word} {show_expression(node.condition)}" for word in ("if", "else"))
        return _sum(
            [
                _product(_one(holds), multiplied_out(node.then)),
                _product(_one(fails), multiplied_out(node.else_)),
            ]
        )
    if isinstance(node, ex.Reduction) and node.operation == "sum":
        found = multiplied_out(node.operand)
        return {
            (factors, tuple(sorted((*inames, *node.inames)))): number
            for (factors, inames), number in found.items()
        }
    return _one(show_expression(node))


def _one(text: str) -> Polynomial:
    return {((text,), ()): 1}


def _sum(terms: list[Polynomial]) -> Polynomial:
    found: dict[_Term, int] = {}
    for polynomial in terms:
        for term, number in polynomial.items():
            found[term] = found.get(term, 0) + number
    return {term: number for term, number in found.items() if number}


def _product(first: Polynomial, second: Polynomial) -> Polynomial:
    pairs: list[Polynomial] = []
    for (one, number), (other, times) in product(first.items(), second.items()):
        (factors, inames), (more, added) = one, other
        if inames and added:  # not a sum over both: each is added up by itself
            more, added = (f"sum({added}, {more})",), ()
        pairs.append({(tuple(sorted((*factors, *more))), (*inames, *added)): number * times})
    return _sum(pairs)
