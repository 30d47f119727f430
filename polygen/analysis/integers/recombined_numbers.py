"""Quotients and remainders that make up a number again: ``m*(ij // m) + ij % m``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.unknowns import is_by_size
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

# Products of nodes that are no sums, numbers aside, and how often each is there.
_Factors: TypeAlias = tuple[Expression, ...]
_Terms: TypeAlias = Mapping[_Factors, int]


def recombined(node: Expression) -> Expression:
    """Return an integer expression with ``x`` in the place of each ``m*(x // m) + x % m``.

    There, `m` is a size or a positive number.
    """
    if ex.Remainder not in walk.classes(node) or ex.FloorDiv not in walk.classes(node):
        return node
    return walk.rewrite(node, _recombined_sum)


def _recombined_sum(node: Expression) -> Expression:
    if not isinstance(node, ex.Sum) or ex.Remainder not in walk.classes(node):
        return node
    terms = before = _expanded(node)
    while (found := _pair(terms)) is not None:
        terms = found
    if terms is before:
        return node
    result = ex.sum_of(*[_product(factors, n) for factors, n in terms.items()])
    form = linear_form(result)
    if form is not None:
        return form.expression()
    return result.children[0] if len(result.children) == 1 else result


def _pair(terms: _Terms) -> _Terms | None:
    """Return the terms with a remainder and its quotient taken together; None if there are none."""
    for factors, count in terms.items():
        for position, node in enumerate(factors):
            if not (isinstance(node, ex.Remainder) and _is_divided(node)):
                continue
            rest = factors[:position] + factors[position + 1 :]
            quotient = ex.floor_quotient(node.numerator, node.denominator)
            whole = _times({rest: count}, _times({(quotient,): 1}, _expanded(node.denominator)))
            if all(terms.get(f) == n for f, n in whole.items()):
                left = {f: n for f, n in terms.items() if f not in whole and f != factors}
                return _plus(left, _times({rest: count}, _expanded(node.numerator)))
    return None


def _is_divided(node: ex.Remainder) -> bool:
    """Tell whether a remainder is by a size, or by a positive number."""
    divisor = node.denominator
    return divisor > 0 if isinstance(divisor, int) else is_by_size(node)


def _expanded(node: Expression) -> _Terms:
    """Return an expression as a sum of products."""
    if isinstance(node, int):
        return {(): node} if node else {}
    if isinstance(node, ex.Sum):
        result: _Terms = {}
        for child in node.children:
            result = _plus(result, _expanded(child))
        return result
    if isinstance(node, ex.Product):
        result = {(): 1}
        for child in node.children:
            result = _times(result, _expanded(child))
        return result
    return {(node,): 1}


def _plus(first: _Terms, second: _Terms) -> _Terms:
    result = dict(first)
    for factors, count in second.items():
        result[factors] = result.get(factors, 0) + count
    return {f: n for f, n in result.items() if n}


def _times(first: _Terms, second: _Terms) -> _Terms:
    result: _Terms = {}
    for a, x in first.items():
        for b, y in second.items():
            result = _plus(result, {tuple(sorted((*a, *b), key=repr)): x * y})
    return result


def _product(factors: _Factors, count: int) -> Expression:
    if not factors:
        return count
    parts = factors if count == 1 else (count, *factors)
    return parts[0] if len(parts) == 1 else ex.product_of(*parts)
