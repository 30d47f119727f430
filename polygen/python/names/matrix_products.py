"""Products of two matrices or vectors, and outer products."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, array_of, stored_into
from polygen.python.names.reductions import depending, reduction_tree
from polygen.python.operators import OPERATORS, Rule, types_of
from polygen.python.refused import Refused
from polygen.python.values import FLOAT64, Arrayed, Indices, Lazy, Number, Value, converted_tree


def matrix_product(trace: Expressions, left: Value, right: Value) -> Value:
    """Return ``left @ right``: of matrices, or of a matrix and a vector, or of two vectors."""
    one, other = array_of(trace, left), array_of(trace, right)
    if isinstance(one, Number) or isinstance(other, Number):
        raise Refused("'@' is given a scalar")
    if len(one.shape) > 2 or len(other.shape) > 2:
        raise Refused("'@' of stacks of matrices", "write the loop over the stack")
    _given, dtype = types_of(OPERATORS["*"], [one, other])
    first, second = trace.shared(one), trace.shared(other)
    first, second = _held(trace, first), _held(trace, second)
    inner, along = first.shape[-1], second.shape[-2 if len(second.shape) == 2 else 0]
    if not trace.extents_agree(inner, along):
        raise Refused("matrices do not go together")
    shape = (*first.shape[:-1], *second.shape[1:]) if len(second.shape) == 2 else first.shape[:-1]
    rows = len(first.shape) - 1
    computed = added_as(trace, dtype)

    def element(index: Indices) -> Expression:
        loop = trace.reduced(inner, "k")
        row = (*index[:rows], loop)
        column = (loop, *index[rows:])
        parts = [
            converted_tree(converted_tree(v.element(i), v.dtype, dtype), dtype, computed)
            for v, i in ((first, row), (second, column))
        ]
        name = next(iter(loop.symbols()))
        term = depending(_times(parts, computed), (name,))
        return converted_tree(reduction_tree("sum", (name,), term), computed, dtype)

    made = Lazy(dtype, shape, element, is_costly=True)
    if len(shape) == 2:
        return trace.stored(made, "product")  # schedules know products by themselves
    return made if shape else trace.frozen(Number(dtype, tree=element(())), "dot")


def added_as(trace: Expressions, dtype: np.dtype) -> np.dtype:
    """Return the type in which products of matrices are added up: float32 as BLAS does."""
    trace.nodes.has_matrix_products = True
    return FLOAT64 if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def _times(parts: list[Expression], dtype: np.dtype) -> Expression:
    if dtype.kind == "b":
        return ex.LogicalAnd(tuple(parts))
    return ex.product_of(*parts)


def _held(trace: Expressions, value: Any) -> Arrayed:
    """Return an operand of a product, which is read many times: in memory if it is computed."""
    found: Arrayed = (
        trace.stored(value) if isinstance(value, Lazy) and len(value.shape) > 0 else value
    )
    return found


def _dot(trace: Expressions, left: Value, right: Value, out: Value | None = None) -> Value:
    one, other = array_of(trace, left), array_of(trace, right)
    if isinstance(one, Number) or isinstance(other, Number):
        found = trace.operated("*", one, other)
    else:
        found = matrix_product(trace, one, other)
    return found if out is None else stored_into(trace, out, found)


def _outer_of(rule: Rule) -> Row:
    def row(trace: Expressions, left: Value, right: Value) -> Value:
        one, other = array_of(trace, left), array_of(trace, right)
        rank = len(other.shape)
        shape = (*one.shape, *[number(1)] * rank)
        own = len(one.shape)
        spread = Lazy(one.dtype, shape, lambda index: one.element(index[:own]))
        return trace.elementwise(rule, [spread, other])

    return row


def _outer(trace: Expressions, left: Value, right: Value) -> Value:
    parts = [_flat(array_of(trace, v)) for v in (left, right)]
    return _outer_of(OPERATORS["*"])(trace, *parts)


def _flat(value: Number | Arrayed) -> Number | Arrayed:
    if len(value.shape) > 1:
        raise Refused("np.outer of arrays with several axes", "flatten them before")
    return value


ROWS: dict[Any, Row] = {
    np.matmul: matrix_product,
    np.dot: _dot,
    np.outer: _outer,
    np.add.outer: _outer_of(OPERATORS["+"]),
    np.multiply.outer: _outer_of(OPERATORS["*"]),
    np.subtract.outer: _outer_of(OPERATORS["-"]),
}
METHODS: dict[str, Any] = {"dot": np.dot}
