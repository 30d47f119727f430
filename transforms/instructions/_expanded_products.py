"""Expressions multiplied out: whether two are the same numbers, but for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

_Factor: TypeAlias = tuple[str, frozenset[str]]  # a text, and the names in it
Polynomial: TypeAlias = Mapping[tuple[_Factor, ...], int]


def multiplied_out(node: Expression) -> Polynomial:
    """Return an expression as a sum of products: how often each product is there.

    Conditions count as factors that are 0 or 1.  Of what the reduction ``sum`` adds up, factors
    without its inames are factors of the sum.  What is something else than an integer, a sum, a
    product, a quotient, a choice or such a reduction, stands for itself.
    """
    if isinstance(node, int | float) and node == 0:
        return {}
    if isinstance(node, int):
        return {(): int(node)}
    if isinstance(node, ex.Sum):
        return _sum([multiplied_out(term) for term in node.children])
    if isinstance(node, ex.Product):
        return reduce(_product, [multiplied_out(factor) for factor in node.children])
    if isinstance(node, ex.Quotient):
        above, below = walk.parts(node)
        return _product(multiplied_out(above), _one(f"1/({show_expression(below)})", below))
    if isinstance(node, ex.If):
        when = show_expression(node.condition)
        holds, fails = (_one(f"{word} {when}", node.condition) for word in ("if", "else"))
        then, else_ = multiplied_out(node.then), multiplied_out(node.else_)
        return _sum([_product(holds, then), _product(fails, else_)])
    if isinstance(node, ex.Reduction) and node.operation == "sum":
        added = multiplied_out(node.operand)
        return _sum([{_added_up(factors, node.inames): n} for factors, n in added.items()])
    return _one(show_expression(node), node)


def _one(text: str, node: Expression) -> Polynomial:
    return {((text, walk.free_variables(node)),): 1}


def _added_up(factors: tuple[_Factor, ...], inames: tuple[str, ...]) -> tuple[_Factor, ...]:
    """Return a product that is added up: those of its factors that vary become one."""
    inside = [factor for factor in factors if not factor[1].isdisjoint(inames)]
    outside = [factor for factor in factors if factor[1].isdisjoint(inames)]
    names = NO_NAMES.union(*(names for _, names in inside)).difference(inames)
    text = f"sum({', '.join(sorted(inames))}: {' * '.join(text for text, _ in inside)})"
    return _sorted([*outside, (text, names)])


def _sorted(factors: list[_Factor]) -> tuple[_Factor, ...]:
    return tuple(sorted(factors, key=lambda factor: factor[0]))


def _sum(terms: list[Polynomial]) -> Polynomial:
    found: dict[tuple[_Factor, ...], int] = {}
    for polynomial in terms:
        for factors, number in polynomial.items():
            found[factors] = found.get(factors, 0) + number
    return {factors: number for factors, number in found.items() if number}


def _product(first: Polynomial, second: Polynomial) -> Polynomial:
    pairs = product(first.items(), second.items())
    return _sum([{_sorted([*one, *other]): n * times} for (one, n), (other, times) in pairs])
