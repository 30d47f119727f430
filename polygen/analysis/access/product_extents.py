"""Extents of axes that several loops fill: ``b[i*m + j]`` where ``0 <= i < n`` and ``0 <= j < m``.

Such a subscript is no affine function.  It grows with each loop, so its largest value is that of
the last iterations, if these meet:

    (n - 1)*m + (m - 1) + 1  =  n*m
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

from polygen.analysis.access.accesses import Reference, loop_domain
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import project_out
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

# The factors of each product, sorted, and how often it is added.
_Polynomial: TypeAlias = Counter[tuple[str, ...]]


def product_extent(
    kernel: Kernel, reference: Reference, axis: int, last: Callable[[str], LinearForm | None]
) -> Expression | None:
    """Return one more than the largest value of a subscript with products; None if unknown.

    Parameters:
        kernel: the kernel.
        reference: what has the subscript.
        axis: which of its subscripts it is.
        last: returns the last iteration of a loop, if a single form is it.
    """
    found = None if reference.conditions else _polynomial(kernel, reference.index[axis])
    if found is None or all(len(factors) < 2 for factors in found):
        return None
    used = {name for factors in found for name in factors} & reference.inames
    ends = {name: form for name in used if (form := last(name)) is not None}
    if len(ends) < len(used) or not _grows(found, used) or not _meet(kernel, reference, ends):
        return None
    values = {name: _polynomial(kernel, form.expression()) for name, form in ends.items()}
    total: _Polynomial = Counter({(): 1})
    for factors, count in found.items():
        value: _Polynomial = Counter({tuple(f for f in factors if f not in used): count})
        for name in used.intersection(factors):
            of_last = values[name]
            if of_last is None:
                return None
            value = _times(value, of_last)
        total = _sum(total, value)
    return _expression(total) if all(count > 0 for count in total.values()) else None


def _grows(found: _Polynomial, inames: set[str]) -> bool:
    """Tell whether a polynomial is a sum of loops, each times sizes."""
    inside = {factors: [f for f in factors if f in inames] for factors in found}
    return all(
        not loops or (len(loops) == 1 and found[factors] > 0) for factors, loops in inside.items()
    )


def _meet(kernel: Kernel, reference: Reference, ends: dict[str, LinearForm]) -> bool:
    """Tell whether there is an iteration that is the last one of several loops."""
    domain, _ = loop_domain(kernel, reference.inames)
    meeting = domain
    for name, form in ends.items():
        is_last = condition_set(ex.Comparison(ex.Variable(name), "==", form.expression()))
        if is_last is None:
            return False
        meeting = meeting.intersect(is_last)
    return project_out(domain, reference.inames) <= project_out(meeting, reference.inames)


def _polynomial(kernel: Kernel, node: Expression) -> _Polynomial | None:
    """Return a polynomial of inames and sizes, derived sizes by their factors."""
    if isinstance(node, int):
        return Counter({(): node} if node else {})
    if isinstance(node, ex.Variable):
        for size in kernel.derived_sizes:
            if size.name == node.name and not size.is_open:
                return _polynomial(kernel, ex.product_of(*size.factors))
        is_known = node.name in kernel.parameters or node.name in kernel.inames
        return Counter({(node.name,): 1}) if is_known else None
    if not isinstance(node, ex.Sum | ex.Product):
        return None
    parts = [_polynomial(kernel, child) for child in node.children]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return reduce(_sum if isinstance(node, ex.Sum) else _times, known)


def _sum(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    return Counter({key: n for key in {*a, *b} if (n := a[key] + b[key])})


def _times(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    new: _Polynomial = Counter()
    for first, m in a.items():
        for second, n in b.items():
            new[tuple(sorted(first + second))] += m * n
    return Counter({key: count for key, count in new.items() if count})


def _expression(found: _Polynomial) -> Expression:
    """Return a polynomial as an expression, products of most factors first."""
    order = sorted(found, key=lambda factors: (-len(factors), factors))
    terms = [
        ex.product_of(*([] if found[f] == 1 and f else [found[f]]), *map(ex.Variable, f))
        for f in order
    ]
    return terms[0] if len(terms) == 1 else ex.sum_of(*terms)
