"""How far apart in memory the elements are that neighbours along an iname access."""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction
from functools import reduce

from polygen.analysis.affine import LinearForm, Term, linear_form
from polygen.analysis.quasi_polynomials import QuasiPolynomial
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array
from polygen.ir.expression import Expression
from polygen.ir.layout import Auto, element_strides


class Address:
    """Where an element lies, as far as sizes and inames tell.

    Parameters:
        array: the array; one whose layout was not declared counts as row-major.
        index: the subscripts of an element.
        names: the inames and integer parameters: what else is mentioned is data.
    """

    def __init__(self, array: Array, index: tuple[Expression, ...], names: Container[str]) -> None:
        strides = element_strides(array)
        if strides is None:
            strides = _row_major(array.shape or ())
        self._axes = [
            (walk.free_variables(i), _polynomial(i, names), _stride(s, names))
            for i, s in zip(index, strides, strict=True)
        ]

    def stride(self, iname: str) -> Expression | None:
        """Return by how many elements the place changes when an iname grows by 1.

        0 if the iname makes no difference.  None if that is not the same everywhere, if data
        decides, or if the strides of the array are not known before calls.
        """
        total = QuasiPolynomial({})
        next_one = LinearForm(1, {iname: 1})
        for mentioned, subscript, stride in self._axes:
            if iname not in mentioned:
                continue
            if subscript is None or stride is None:
                return None
            total = total + (subscript.substituted(iname, next_one) - subscript) * stride
        return None if iname in total.names() else _expression(total)


def _row_major(shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(ex.product_of(1, *shape[axis + 1 :]) for axis in range(len(shape)))


def _stride(stride: Expression | Auto | None, names: Container[str]) -> QuasiPolynomial | None:
    return None if stride is None or isinstance(stride, Auto) else _polynomial(stride, names)


def _polynomial(node: Expression, names: Container[str]) -> QuasiPolynomial | None:
    """Return an integer expression multiplied out; None if it is something else."""
    form = linear_form(node, names)
    if form is not None:
        return QuasiPolynomial.of_form(form)
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
