"""Finds the product that an instruction adds to an element: ``c[i] = c[i] + a[i]*b``."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.expression import Expression


def added_product(
    target: ex.Variable | ex.Subscript, value: Expression
) -> tuple[Expression, Expression] | None:
    """Return the two factors of what is added to an element; None if it is no such product.

    Parameters:
        target: the element.
        value: what is assigned to it.
    """
    terms = value.children if isinstance(value, ex.Sum) else ()
    others = [term for term in terms if term != target]
    if len(terms) != 2 or len(others) != 1:
        return None
    (product,) = others
    if not isinstance(product, ex.Product) or len(product.children) != 2:
        return None
    left, right = product.children
    return left, right
