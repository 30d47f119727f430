"""Extents of axes that digits of a number count: ``a[i//m, i % m]`` where ``0 <= i < n*m``.

Quotients and remainders by sizes are data to isl.  But where the loop runs to a product, and the
divisors are factors of it, each digit takes all values below a product of other factors:

    0 <= i < n*m*k:    i//(m*k)  takes n values    i//k % m  takes m    i % k  takes k
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from polygen.analysis.integers.affine_forms import LinearForm
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class _Factors:
    """A product of a positive number and of other factors."""

    number: int = 1
    others: Counter[Any] = field(default_factory=Counter[Any])

    def times(self, other: _Factors) -> _Factors:
        return _Factors(self.number * other.number, self.others + other.others)

    def over(self, other: _Factors) -> _Factors | None:
        """Return the quotient; None if it is no product of some of the factors."""
        if self.number % other.number or other.others - self.others:
            return None
        return _Factors(self.number // other.number, self.others - other.others)

    def expression(self) -> Expression:
        others = [factor for factor, count in self.others.items() for _ in range(count)]
        parts = [*([] if self.number == 1 and others else [self.number]), *others]
        return parts[0] if len(parts) == 1 else ex.product_of(*parts)


@dataclass(frozen=True)
class _Digit:
    """``name // divisor % modulus``."""

    name: str
    divisor: _Factors
    modulus: _Factors | None


def digit_extent(kernel: Kernel, node: Expression, count: LinearForm) -> Expression | None:
    """Return how many values a digit of a loop takes, from 0 on; None if that is not known.

    Parameters:
        kernel: its derived sizes are looked at.
        node: a subscript, such as ``i//m`` or ``i % m``.
        count: how many values the loop takes that `counted` names, from 0 on.
    """
    digit, whole = _digit(kernel, node), _factors_of_form(kernel, count)
    if digit is None or whole is None:
        return None
    rest = whole.over(digit.divisor)
    if rest is None or digit.modulus is None:
        return None if rest is None else rest.expression()
    return None if rest.over(digit.modulus) is None else digit.modulus.expression()


def row_extent(
    kernel: Kernel, node: Expression, count: Callable[[str], Expression | None]
) -> Expression | None:
    """Return the extent of an axis with rows of rows, each behind the other; None if it is none.

    i*m*k + j*k + l, where j takes m values and l takes k: n*m*k, if i takes n.

    Parameters:
        kernel: its derived sizes are looked at.
        node: a subscript.
        count: returns how many values an iname takes, from 0 on.
    """
    strides: list[tuple[_Factors, str]] = []
    for factors in _terms(kernel, node):
        inames = [f.name for f in factors if isinstance(f, ex.Variable) and f.name in kernel.inames]
        others = [f for f in factors if ex.Variable(inames[0]) != f] if inames else []
        stride = _product([_factors(kernel, f) for f in others])
        if len(inames) != 1 or stride is None:
            return None
        strides.append((stride, inames[0]))
    whole, extents = _Factors(), list[Expression]()
    while strides:
        found = next(((s, iname) for s, iname in strides if s == whole), None)
        values = None if found is None else count(found[1])
        factors_of_count = None if values is None else _factors(kernel, values)
        if found is None or values is None or factors_of_count is None:
            return None
        strides.remove(found)
        whole = whole.times(factors_of_count)
        extents.append(values)
    return ex.product_of(*reversed(extents))


def _terms(kernel: Kernel, node: Expression) -> list[tuple[Expression, ...]]:
    """Return the factors of each term of a sum; sums that inames are in are multiplied out."""
    if isinstance(node, ex.Sum):
        if walk.free_variables(node).isdisjoint(kernel.inames):
            return [(node,)]
        return [term for child in node.children for term in _terms(kernel, child)]
    if not isinstance(node, ex.Product):
        return [(node,)]
    found: list[tuple[Expression, ...]] = [()]
    for child in node.children:
        found = [(*one, *other) for one in found for other in _terms(kernel, child)]
    return found


def counted(kernel: Kernel, node: Expression) -> str | None:
    """Return the name of the loop of which a subscript is a digit; None if it is none."""
    digit = _digit(kernel, node)
    return None if digit is None else digit.name


def _digit(kernel: Kernel, node: Expression) -> _Digit | None:
    modulus = None
    if isinstance(node, ex.Remainder):
        modulus = _factors(kernel, node.denominator)
        node = node.numerator
        if modulus is None:
            return None
    divisor = _Factors()
    while isinstance(node, ex.FloorDiv):
        by = _factors(kernel, node.denominator)
        if by is None:
            return None
        divisor, node = divisor.times(by), node.numerator
    is_loop = isinstance(node, ex.Variable) and node.name in kernel.inames
    return _Digit(ex.name_of(node), divisor, modulus) if is_loop else None


def _factors(kernel: Kernel, node: Expression) -> _Factors | None:
    """Return the factors of a product, those of derived sizes among them."""
    if isinstance(node, int):
        return _Factors(node) if node > 0 else None
    if isinstance(node, ex.Product):
        return _product([_factors(kernel, child) for child in node.children])
    if isinstance(node, ex.Variable):
        for size in kernel.derived_sizes:
            if size.name == node.name and not size.is_open:
                return _product([_factors(kernel, factor) for factor in size.factors])
        return _Factors(1, Counter([node])) if node.name in kernel.parameters else None
    return _Factors(1, Counter([node])) if isinstance(node, ex.Sum) else None


def _product(factors: Iterable[_Factors | None]) -> _Factors | None:
    found = list(factors)
    known = [part for part in found if part is not None]
    return reduce(_Factors.times, known, _Factors()) if len(known) == len(found) else None


def _factors_of_form(kernel: Kernel, form: LinearForm) -> _Factors | None:
    """Return the factors of a number of iterations, which is a multiple of one size."""
    if form.constant or len(form.terms) != 1:
        return None
    ((term, number),) = form.terms.items()
    of_term = _factors(kernel, ex.Variable(term)) if isinstance(term, str) else None
    return None if of_term is None or number < 1 else _Factors(number).times(of_term)
