"""Products by sizes: ``i*m`` is not affine, but ``i*m + m <= n*m`` where ``i < n``.

To isl, such a product is an unknown number (`polygen.analysis.integers.unknowns`).  What is known
of it follows from what it is a multiple of: of two products by one size that is not negative, the
one with the greater factor is greater, by the size at least.  So subscripts such as ``i*m + j`` are
inside of an array of ``n*m`` elements, and different for different ``i`` and ``j``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.multiples import Multiple, order_of
from polygen.analysis.integers.second_instance import OTHER, in_other
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import DerivedSize

_Key: TypeAlias = tuple[str, ...]  # the factors of a product, in the order of their texts


@dataclass(frozen=True)
class SizeProduct:
    """A product by what depends on parameters alone.

    Attributes:
        key: the same for equal sizes.
        multiple: the size, the other factor, and the product: affine in what is known.
        fixed: whether the other factor depends on parameters alone, too.
        derived: whether it is a derived size, of which factors below 0 count as 0.
    """

    key: _Key
    multiple: Multiple
    fixed: bool = False
    derived: bool = False


def has_size_products(kernel: Kernel, unknowns: Unknowns) -> bool:
    """Tell whether a product by a size is among unknowns."""
    sizes = frozenset(kernel.parameters)
    return any(
        len(factors) > 1 and any(_is_fixed(f, sizes) for f in factors)
        for factors in map(_factors, unknowns.names)
    )


def size_products(kernel: Kernel, unknowns: Unknowns) -> list[SizeProduct]:
    """Return the products by sizes among unknowns, and derived sizes that are such.

    Products of sizes alone are looked at where a size of another product is a part of them.

    Parameters:
        kernel: the kernel.
        unknowns: those of an instance; more come of sizes that are products themselves.
    """
    sizes = frozenset(kernel.parameters)
    derived = {_key([factor]) for size in kernel.derived_sizes for factor in size.factors}
    found: dict[tuple[Expression, _Key], SizeProduct] = {}
    seen = -1
    while len(unknowns.names) + len(found) > seen:
        seen = len(unknowns.names) + len(found)
        for node in list(unknowns.names):
            factors = _factors(node)
            if len(factors) < 2:
                continue
            fixed = [f for f in factors if _is_fixed(f, sizes)]
            wanted = sorted(derived.union(p.key for p in found.values()))
            wanted = wanted if len(fixed) == len(factors) else []
            splits = [_without(factors, key) for key in wanted if len(key) < len(factors)]
            if fixed and len(fixed) < len(factors):
                splits.append(([f for f in factors if f not in fixed], fixed))
            for rest, size in splits:
                if rest and (node, _key(size)) not in found:
                    multiple = _multiple(unknowns, rest, size, node)
                    product = SizeProduct(_key(size), multiple, len(fixed) == len(factors))
                    found[node, product.key] = product
    return [*found.values(), *(_derived(kernel, unknowns) if found else ())]


def _multiple(
    unknowns: Unknowns, rest: list[Expression], size: list[Expression], node: Expression
) -> Multiple:
    parts = (_product(size), _product(rest), node)
    return Multiple(*(unknowns.abstract(part) for part in parts))


def _derived(kernel: Kernel, unknowns: Unknowns) -> Iterator[SizeProduct]:
    for size in kernel.derived_sizes:
        if len(size.factors) == 2:
            for factor, other in (size.factors, size.factors[::-1]):
                parts = (unknowns.abstract(other), unknowns.abstract(factor))
                multiple = Multiple(*parts, ex.Variable(size.name))
                yield SizeProduct(_key([other]), multiple, fixed=True, derived=True)


def _without(factors: list[Expression], key: _Key) -> tuple[list[Expression], list[Expression]]:
    """Return the factors that a size lacks, and those of the size; no factors if it has others."""
    left, rest, size = Counter(key), list[Expression](), list[Expression]()
    for factor in factors:
        (shown,) = _key([factor])
        (size if left[shown] > 0 else rest).append(factor)
        left[shown] -= 1
    return (rest, size) if len(size) == len(key) else ([], [])


def _is_fixed(node: Expression, sizes: frozenset[str]) -> bool:
    return walk.free_variables(node) <= sizes


def _factors(node: Expression) -> list[Expression]:
    """Return the factors of a product; numbers are part of the first other one."""
    if not isinstance(node, ex.Product):
        return []
    flat: list[Expression] = []
    for child in node.children:
        flat += _factors(child) or [child]
    number, others = 1, list[Expression]()
    for factor in flat:
        if isinstance(factor, int):
            number *= factor
        else:
            others.append(factor)
    if number != 1 and others:
        others[0] = ex.product_of(number, others[0])
    return others


def _product(factors: list[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else ex.product_of(*factors)


def _key(factors: list[Expression]) -> _Key:
    forms = [(linear_form(factor), factor) for factor in factors]
    known: list[Expression] = [f if form is None else form.expression() for form, f in forms]
    return tuple(sorted(map(show_expression, known)))


# --- what is known of them


def product_facts(kernel: Kernel, unknowns: Unknowns, known: isl.Set) -> isl.Set:
    """Return what is known of products by sizes in an instance; more unknowns come of it.

    Parameters:
        kernel: the kernel.
        unknowns: those of the instance.
        known: what holds in it: the result says nothing of others.
    """
    found = _same_as_derived(kernel, unknowns, known)
    products = size_products(kernel, unknowns)
    # A size that is a product itself comes after what it is a size of.
    for each in products[::-1]:
        if not each.derived:
            found = found.intersect(_facts(each.multiple, known.intersect(found)))
    for first, second in combinations(products[::-1], 2):
        decides = not (first.fixed and second.fixed and first.derived == second.derived)
        if first.key == second.key and decides:
            facts = _order(first, second, known.intersect(found))
            found = found.intersect(facts)
    return found


def _same_as_derived(kernel: Kernel, unknowns: Unknowns, known: isl.Set) -> isl.Set:
    """Return that products that are written out are the derived sizes that have their factors."""
    found = universe()
    for name, flat in _flat_sizes(kernel).items():
        for node in list(unknowns.names):
            factors = _factors(node)
            if len(factors) == len(flat) and _key(factors) == _key(flat):
                plain = all(_holds(known, unknowns.abstract(f), ">=", 0) for f in factors)
                value = ex.Variable(unknowns.names[node])
                same = _where(value, "==", ex.Variable(name))
                found = found.intersect(same) if plain else found
    return found


def product_cofactors(kernel: Kernel, size: Expression) -> Iterator[tuple[DerivedSize, Expression]]:
    """Yield the derived sizes that are a product of a size, itself one, and one other factor."""
    key = _key(_factors(size))
    if len(key) < 2:
        return
    flat = _flat_sizes(kernel)
    for derived in kernel.derived_sizes:
        rest, _ = _without(flat[derived.name], key)
        if len(rest) == 1:
            yield derived, rest[0]


def _flat_sizes(kernel: Kernel) -> dict[str, list[Expression]]:
    """Return the factors of derived sizes, those of others in their place."""
    found: dict[str, list[Expression]] = {}
    for size in kernel.derived_sizes:
        found[size.name] = [part for factor in size.factors for part in _known(found, factor)]
    return found


def _known(parts: dict[str, list[Expression]], factor: Expression) -> list[Expression]:
    return parts.get(factor.name, [factor]) if isinstance(factor, ex.Variable) else [factor]


def _facts(multiple: Multiple, known: isl.Set) -> isl.Set:
    """Return between which multiples of the size it is, as far as what is known decides that."""
    if not _holds(known, multiple.size, ">=", 0):
        return universe()
    found = universe()
    for least in (1, 0):
        if _holds(known, multiple.factor, ">=", least):
            found = found.intersect(_where(multiple.value, ">=", multiple.size if least else 0))
            break
    return found


def _order(first: SizeProduct, second: SizeProduct, known: isl.Set) -> isl.Set:
    """Return how two products by one size compare, where what is known decides that."""
    one, other = first.multiple, second.multiple
    if not _holds(known, one.size, ">=", 0):
        return universe()
    for each in (first, second):
        if each.derived and not _holds(known, each.multiple.factor, ">=", 0):
            return universe()
    for less, more in ((one, other), (other, one)):
        if _holds(known, ex.sum_of(less.factor, 1), "<=", more.factor):
            return _where(ex.sum_of(less.value, one.size), "<=", more.value)
        if _holds(known, less.factor, "<=", more.factor):
            return _where(less.value, "<=", more.value)
    return universe()


def _holds(known: isl.Set, left: Expression, operator: str, right: Expression) -> bool:
    condition = condition_set(ex.Comparison(left, operator, right))
    return condition is not None and known.is_subset(condition)


def _where(left: Expression, operator: str, right: Expression) -> isl.Set:
    condition = condition_set(ex.Comparison(left, operator, right))
    return universe() if condition is None else condition


def order_of_products(
    kernel: Kernel, unknowns: tuple[Unknowns, Unknowns], known: isl.Set
) -> Iterator[isl.Set]:
    """Yield what is known of products by one size in two instances.

    Parameters:
        kernel: the kernel.
        unknowns: those of the first instance, and of the second under the same names.
        known: what holds in the first.
    """
    if not any(has_size_products(kernel, u) for u in unknowns):
        return
    here, there = (size_products(kernel, u) for u in unknowns)
    known = known.intersect(product_facts(kernel, unknowns[0], known))
    yield _same_sizes(kernel, unknowns)
    for first in here:
        for second in there:
            if first.fixed or second.fixed or first.key != second.key:
                continue
            if _holds(known, first.multiple.size, ">=", 0):
                value, factor = second.multiple.value, second.multiple.factor
                other = (in_other(kernel, factor), in_other(kernel, value))
                yield order_of(first.multiple, Multiple(first.multiple.size, *other))


def _same_sizes(kernel: Kernel, unknowns: tuple[Unknowns, Unknowns]) -> isl.Set:
    """Return that what depends on parameters alone is the same in two instances."""
    sizes = frozenset(kernel.parameters)
    here, there = (u.names for u in unknowns)
    both = [node for node in here if node in there and _is_fixed(node, sizes)]
    same = (
        _where(ex.Variable(here[node]), "==", ex.Variable(there[node] + OTHER)) for node in both
    )
    return reduce(isl.Set.intersect, same, universe())
