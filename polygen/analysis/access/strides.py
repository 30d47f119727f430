"""Computes the distance in memory between accesses of neighbours along an iname."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from polygen.analysis.counting.quasi_polynomials import QuasiPolynomial
from polygen.analysis.integers.affine_forms import LinearForm, Term, linear_form
from polygen.analysis.integers.recombined_numbers import recombined
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array
from polygen.ir.expression import Expression
from polygen.ir.layout import Auto, element_strides

_POWERS = 8  # up to this exponent, a power is a product


class Address:
    """The address of an element, as far as sizes and inames tell.

    Parameters:
        array: the array; one whose layout was not declared counts as row-major.
        index: the subscripts of an element.
        names: the inames and integer parameters: what else is mentioned is data.
    """

    def __init__(self, array: Array, index: tuple[Expression, ...], names: Container[str]) -> None:
        strides = element_strides(array)
        if strides is None:
            strides = _row_major(array.shape or ())
        self._names = names
        self._axes = [(walk.free_variables(i), i, s) for i, s in zip(index, strides, strict=True)]

    def stride(self, iname: str) -> Expression | None:
        """Return by how many elements the place changes when an iname grows by 1.

        0 if the iname makes no difference.  None if that is not the same everywhere, if data
        decides, or if the strides of the array are not known before calls.
        """
        plain = self._plain_stride(iname)
        return self._stride(iname, _Apart(iname, in_runs=False)) if plain is None else plain

    def _plain_stride(self, iname: str) -> Expression | None:
        """Return the stride where one affine subscript mentions an iname; None if that is not so.

        That is so for most accesses, and takes a tenth of the time (`benchmarks/choosing.py`).
        """
        axes = [(index, stride) for names, index, stride in self._axes if iname in names]
        if len(axes) != 1:
            return None if axes else 0
        ((index, stride),) = axes
        form = linear_form(index)
        if form is None or not all(isinstance(t, str) and t in self._names for t in form.terms):
            return None
        factor = form.terms.get(iname, 0)
        if isinstance(stride, ex.Product) and stride.children[:-1] == (1,):
            stride = stride.children[-1]  # that of the last axis but one: 1*n
        if isinstance(stride, int):
            return factor * stride
        if not factor or not isinstance(stride, ex.Variable) or stride.name not in self._names:
            return None
        return stride if factor == 1 else ex.product_of(factor, stride)

    def stride_in_runs(self, iname: str) -> Expression | None:
        """Return the same, but for where a quotient changes: 1 for ``a[p // m, k, p % m]``.

        There, neighbours are in one row but for one in ``m`` of them.
        """
        exact = self.stride(iname)
        return exact if exact is not None else self._stride(iname, _Apart(iname, in_runs=True))

    def offset(self, along: str | None = None) -> Expression | None:
        """Return the place, in elements; None if strides are not known before calls.

        Parameters:
            along: leave out axes along which this iname makes no difference.
        """
        terms: list[Expression] = []
        for mentioned, subscript, stride in self._axes:
            if along is None or along in mentioned:
                if stride is None or isinstance(stride, Auto):
                    return None
                terms.append(ex.product_of(subscript, stride))
        return recombined(ex.sum_of(*terms)) if terms else 0

    def _stride(self, iname: str, apart: _Apart) -> Expression | None:
        place = self.offset(iname)
        if place is None or place == 0:
            return place
        offset = _polynomial(apart.rewritten(place), apart.known(self._names))
        if offset is None:
            return None
        found = offset.substituted(iname, LinearForm(1, {iname: 1})) - offset
        return None if iname in found.names() else _expression(found)


class _Apart:
    """Quotients and remainders that an iname does not change, as names of their own.

    Parameters:
        iname: the iname.
        in_runs: whether it changes no quotient at all.
    """

    def __init__(self, iname: str, *, in_runs: bool) -> None:
        self._iname, self._in_runs = iname, in_runs
        self._found: dict[Expression, str] = {}

    def rewritten(self, node: Expression) -> Expression:
        """Return an expression with the names in it."""
        if isinstance(node, ex.FloorDiv | ex.Remainder):
            is_same = self._iname not in walk.free_variables(node)
            if is_same or (self._in_runs and isinstance(node, ex.FloorDiv)):
                return ex.Variable(self._found.setdefault(node, f"__same{len(self._found)}"))
            return self.rewritten(node.numerator) if self._in_runs else node
        return walk.rebuild(node, tuple([self.rewritten(part) for part in walk.parts(node)]))

    def known(self, names: Container[str]) -> Container[str]:
        """Return names, and those that stand for what does not change."""
        return _Either(names, frozenset(self._found.values()))


@dataclass(frozen=True)
class _Either:
    first: Container[str]
    second: Container[str]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.first or name in self.second)


def _row_major(shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(ex.product_of(1, *shape[axis + 1 :]) for axis in range(len(shape)))


def multiplied_out(node: Expression) -> Expression:
    """Return an integer expression as strides are given: equal polynomials are written alike."""
    found = _polynomial(node, _Anything())
    return node if found is None else _expression(found)


class _Anything:
    def __contains__(self, name: object) -> bool:
        return True


def _polynomial(node: Expression, names: Container[str]) -> QuasiPolynomial | None:
    """Return an integer expression multiplied out; None if it is something else."""
    form = linear_form(node, names)
    if form is not None:
        return QuasiPolynomial.of_form(form)
    if isinstance(node, ex.Power) and type(node.exponent) is int and 0 < node.exponent <= _POWERS:
        node = ex.Product((node.base,) * node.exponent)
    if not isinstance(node, ex.Sum | ex.Product):
        return None
    found: list[QuasiPolynomial] = []
    for child in node.children:
        part = _polynomial(child, names)
        if part is None:
            return None
        found.append(part)
    if isinstance(node, ex.Sum):
        return reduce(QuasiPolynomial.__add__, found)
    return reduce(QuasiPolynomial.__mul__, found)


def _expression(polynomial: QuasiPolynomial) -> Expression:
    """Return a quasi-polynomial with whole coefficients as an expression: 1, ``n``, ``16*n``."""
    if polynomial.is_constant:
        return int(polynomial.terms.get((), Fraction()))
    products = sorted([(-len(m), str(m), m, c) for m, c in polynomial.terms.items()])
    terms = [_product(int(factor), monomial) for _, _, monomial, factor in products]
    return terms[0] if len(terms) == 1 else ex.sum_of(*terms)


def _product(factor: int, monomial: tuple[Term, ...]) -> Expression:
    parts = [LinearForm(0, {term: 1}).expression() for term in monomial]
    if not parts:
        return factor
    if factor != 1:
        parts = [factor, *parts]
    return parts[0] if len(parts) == 1 else ex.product_of(*parts)
