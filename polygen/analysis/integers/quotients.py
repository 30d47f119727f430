"""Quotients and remainders by sizes: ``ij // m`` and ``ij % m`` are not affine, but bounded.

So are multiples of derived sizes (`polygen.analysis.integers.multiples`), and of others
(`polygen.analysis.integers.size_products`).

They are unknown numbers to isl (`polygen.analysis.integers.unknowns`), of which this says what it
can: where they are, and that quotients and remainders of two numbers come in the order of these
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.multiples import multiple_facts, multiples, order_of_multiples
from polygen.analysis.integers.products import cofactors
from polygen.analysis.integers.second_instance import in_other
from polygen.analysis.integers.size_products import (
    has_size_products,
    order_of_products,
    product_cofactors,
    product_facts,
)
from polygen.analysis.integers.unknowns import Unknowns, is_by_size
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Division:
    """A number divided by a size.

    Attributes:
        number, size, quotient, remainder: affine in inames, parameters and unknowns.
        by: the size as it is written.
    """

    number: Expression
    size: Expression
    quotient: Expression
    remainder: Expression
    by: Expression


_Key: TypeAlias = tuple[LinearForm | Expression, LinearForm | Expression]


def divisions(kernel: Kernel, unknowns: Unknowns) -> dict[_Key, Division]:
    """Return the divisions by sizes among unknowns, by what is divided; more unknowns come of it.

    Parameters:
        kernel: the kernel.
        unknowns: those of an instance.
    """
    found: dict[_Key, Division] = {}
    seen = 0
    while len(unknowns.names) > seen:
        for node in list(unknowns.names)[seen:]:
            seen += 1
            if not is_by_size(node) or not _is_fixed(kernel, node.denominator):
                continue
            number, size = node.numerator, node.denominator
            key = linear_form(number) or number, linear_form(size) or size
            if key not in found:
                found[key] = Division(
                    unknowns.abstract(number),
                    unknowns.abstract(size),
                    unknowns.abstract(ex.floor_quotient(number, size)),
                    unknowns.abstract(ex.remainder_of(number, size)),
                    size,
                )
    return found


def says_something(kernel: Kernel, unknowns: Unknowns) -> bool:
    """Tell whether there is something to be known of unknowns beside what tables say."""
    if any(map(is_by_size, unknowns.names)) or has_size_products(kernel, unknowns):
        return True
    return bool(kernel.derived_sizes) and bool(multiples(kernel, unknowns))


def _is_fixed(kernel: Kernel, size: Expression) -> bool:
    return walk.free_variables(size) <= frozenset(kernel.parameters)


def quotient_facts(kernel: Kernel, unknowns: Unknowns, known: isl.Set) -> isl.Set:
    """Return what is known of divisions by sizes, and of multiples; more unknowns come of it.

    Parameters:
        kernel: the kernel.
        unknowns: those of an instance.
        known: what holds in the instance: the result says nothing of others.
    """
    divided = divisions(kernel, unknowns)  # by products, which become unknowns, too
    found = product_facts(kernel, unknowns, known)
    for multiple in multiples(kernel, unknowns):
        found = found.intersect(multiple_facts(multiple, known))
    for division in reversed(divided.values()):  # those inside others first
        for excuses, facts in _facts(kernel, division):
            found = found.intersect(_implied(known.intersect(found), excuses, facts))
    return found


def _implied(known: isl.Set, excuses: Iterable[Expression], facts: Iterable[Expression]) -> isl.Set:
    """Return where facts hold, or an excuse does that what is known leaves possible."""
    sets = [s for s in map(condition_set, facts) if s is not None]
    result = reduce(isl.Set.intersect, sets, universe())
    for excuse in excuses:
        excused = condition_set(excuse)
        if excused is None:
            return universe()
        if not known.is_disjoint(excused):
            result = result.union(excused)
    return result


_Fact: TypeAlias = tuple[list[Expression], list[Expression]]


def _facts(kernel: Kernel, division: Division) -> Iterator[_Fact]:
    """Yield conditions, and what holds where none of them does."""
    number, size = division.number, division.size
    quotient, remainder = division.quotient, division.remainder
    below = [_is(size, "<=", 0)]
    yield below, [_is(remainder, ">=", 0), _is(remainder, "<", size)]
    negative = [*below, _is(number, "<", 0)]
    yield negative, [_is(quotient, ">=", 0), _is(ex.sum_of(quotient, remainder), "<=", number)]
    for product, other in (*cofactors(kernel, size), *product_cofactors(kernel, division.by)):
        past = _is(number, ">=", ex.Variable(product.name))
        yield [*negative, past], [_is(quotient, "<", other)]


def order_facts(
    kernel: Kernel, unknowns: tuple[Unknowns, Unknowns], known: isl.Set
) -> Iterator[isl.Set]:
    """Yield what is known of divisions by one size, or multiples of it, in two instances.

    Parameters:
        kernel: the kernel.
        unknowns: those of the first instance, and of the second under the same names.
        known: what holds in the first.
    """
    yield from order_of_products(kernel, unknowns, known)
    yield from order_of_multiples(kernel, unknowns)
    here, there = (divisions(kernel, u) for u in unknowns)
    for (_, by), first in here.items():
        for (_, other), second in there.items():
            if by == other:
                yield from _order(first, _in_other(kernel, second), known)


def _in_other(kernel: Kernel, division: Division) -> Division:
    return Division(
        in_other(kernel, division.number),
        in_other(kernel, division.size),
        in_other(kernel, division.quotient),
        in_other(kernel, division.remainder),
        division.by,
    )


def _order(first: Division, second: Division, known: isl.Set) -> Iterator[isl.Set]:
    """Yield that a difference of numbers is that of quotients, times the size, and remainders."""
    more = ex.sum_of(first.number, ex.negated(second.number))
    rest = ex.sum_of(first.remainder, ex.negated(second.remainder))
    left = ex.sum_of(more, ex.negated(rest))  # a multiple of the size
    cases = (
        (_is(first.quotient, "==", second.quotient), _is(left, "==", 0)),
        (_is(first.quotient, ">", second.quotient), _is(left, ">=", first.size)),
        (_is(first.quotient, "<", second.quotient), _is(left, "<=", ex.negated(first.size))),
    )
    found = _implied(known, [_is(first.size, "<=", 0)], [_is(0, "==", 1)])
    for case in cases:
        sets = [s for s in map(condition_set, case) if s is not None]
        if len(sets) < len(case):
            return
        found = found.union(reduce(isl.Set.intersect, sets))
    yield found


def _is(left: Expression, operator: str, right: Expression) -> Expression:
    return ex.Comparison(left, operator, right)
