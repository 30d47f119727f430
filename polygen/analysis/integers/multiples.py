"""Multiples of derived sizes: ``i_length*i_outer`` is not affine, but grows with what it is of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set, to_pw_aff
from polygen.analysis.integers.second_instance import in_other
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Multiple:
    """A size, which is never negative, times a factor; all are affine in what is known."""

    size: Expression
    factor: Expression
    value: Expression


def multiples(kernel: Kernel, unknowns: Unknowns) -> list[Multiple]:
    """Return the multiples of derived sizes among unknowns.

    Parameters:
        kernel: the kernel.
        unknowns: those of an instance; more come of factors that are data.
    """
    sizes = {ex.Variable(size.name) for size in kernel.derived_sizes}
    found: list[Multiple] = []
    for node in list(unknowns.names):
        if isinstance(node, ex.Product) and len(node.children) == 2:
            for size, factor in (node.children, node.children[::-1]):
                if size in sizes:
                    value = unknowns.abstract(node)
                    found.append(Multiple(size, unknowns.abstract(factor), value))
                    break
    return found


def multiple_facts(multiple: Multiple, known: isl.Set) -> isl.Set:
    """Return what is known of a multiple where its factor is between constants.

    Parameters:
        multiple: the multiple.
        known: what holds in the instance: the result says nothing of others.
    """
    factor = to_pw_aff(multiple.factor)
    if factor is None or known.is_empty():
        return universe()
    values = isl.Set.from_pw_aff(factor).intersect_params(known)
    least, most = values.dim_min_val(0), values.dim_max_val(0)
    found = universe()
    for end, way in ((least, 1), (most, -1)):
        if end.is_int():
            first = int(end.to_python())
            found = found.intersect(_beyond(multiple, first, way))
            found = found.intersect(_beyond(multiple, first + way, way))
    return found


def _beyond(multiple: Multiple, end: int, way: int) -> isl.Set:
    """Return where the multiple is as far as its factor is: from `end` on, in one direction."""
    least = ex.product_of(way * end, multiple.size)
    far = condition_set(ex.Comparison(ex.product_of(way, multiple.value), ">=", least))
    before = condition_set(ex.Comparison(ex.product_of(way, multiple.factor), "<", way * end))
    return universe() if far is None or before is None else far.union(before)


def order_of_multiples(kernel: Kernel, unknowns: tuple[Unknowns, Unknowns]) -> Iterator[isl.Set]:
    """Yield what is known of multiples of one size in two instances.

    Parameters:
        kernel: the kernel.
        unknowns: those of the first instance, and of the second under the same names.
    """
    here, there = (multiples(kernel, u) for u in unknowns)
    for first in here:
        for second in there:
            if first.size == second.size:
                factor, value = (in_other(kernel, e) for e in (second.factor, second.value))
                yield order_of(first, Multiple(second.size, factor, value))


def order_of(first: Multiple, second: Multiple) -> isl.Set:
    """Return that multiples of one size differ by it at least, where their factors differ."""
    found = isl.Set("{ : 1 = 0 }")
    more = ex.sum_of(first.value, ex.negated(second.value))
    for operator, least in (("==", 0), (">", first.size), ("<", ex.negated(first.size))):
        compared = {"==": "==", ">": ">=", "<": "<="}[operator]
        parts = (
            condition_set(ex.Comparison(first.factor, operator, second.factor)),
            condition_set(ex.Comparison(more, compared, least)),
        )
        if parts[0] is None or parts[1] is None:
            return universe()
        found = found.union(parts[0].intersect(parts[1]))
    return found
