"""Facts about derived sizes: products are not affine, but their bounds may be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.sizes import DerivedSize, products


@per_kernel
def size_facts(kernel: Kernel) -> isl.Set:
    """Return the values that derived sizes may have, as a flat set.

    It is exact for a size that has one factor at most that is no constant.
    """
    return reduce(isl.Set.intersect, map(_facts, products(kernel.derived_sizes)), universe())


def _facts(size: DerivedSize) -> isl.Set:
    """Return what is known of one: it is 0, or each factor is at least 1."""
    name = ex.Variable(size.name)
    some = [_where(factor, ">=", 1) for factor in size.factors]
    nothing = reduce(isl.Set.union, (part.complement() for part in some))
    is_zero = nothing.intersect(_where(name, "==", 0))
    return is_zero.union(reduce(isl.Set.intersect, [*some, *_least(name, size.factors)]))


def _least(name: Expression, factors: tuple[Expression, ...]) -> Iterator[isl.Set]:
    """Yield what holds of a product of factors that are all at least 1."""
    if sum(not isinstance(f, int) for f in factors) <= 1:
        yield _where(name, "==", ex.product_of(*factors))
        return
    # (a - 1)*(b - 1) >= 0, so that a*b is a + b - 1 at least.
    yield _where(name, ">=", ex.sum_of(*factors, 1 - len(factors)))


def _where(left: Expression, operator: str, right: Expression) -> isl.Set:
    found = condition_set(ex.Comparison(left, operator, right))
    if found is None:
        raise InternalError(f"a factor of a derived size is not affine: {left!r}, {right!r}")
    return found


def cofactors(kernel: Kernel, factor: Expression) -> Iterator[tuple[DerivedSize, Expression]]:
    """Yield the derived sizes that are the product of a factor and one other, and the other."""
    form = linear_form(factor)
    for size in kernel.derived_sizes:
        if len(size.factors) == 2:
            for position, mine in enumerate(size.factors):
                if linear_form(mine) == form:
                    yield size, size.factors[1 - position]
