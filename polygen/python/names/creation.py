"""NumPy's functions that make new arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import (
    Row,
    array_of,
    array_with_axes,
    constant_int,
    dtype_of,
    flag_of,
    shape_of,
)
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused
from polygen.python.values import (
    FLOAT64,
    INT64,
    Constant,
    Indices,
    Lazy,
    Number,
    Value,
    affine_number,
    constant_number,
    converted_tree,
    literal,
)


def _filled(value: float | None) -> Row:
    def row(
        trace: Expressions, shape: Value, dtype: Value | None = None, order: Value | None = None
    ) -> Value:
        del order
        result = FLOAT64 if dtype is None or dtype == Constant(None) else dtype_of(dtype)
        return _new(trace, shape_of(trace, shape), result, value)

    return row


def _new(
    trace: Expressions, shape: tuple[Affine, ...], dtype: np.dtype, value: float | None
) -> Value:
    view = trace.allocated(dtype, shape, "array", zeros=value == 0)
    if value is not None and (value != 0 or view.base.role == "temporary"):
        trace.assign(view, constant_number(value))
    return view


def _full(trace: Expressions, shape: Value, value: Value, dtype: Value | None = None) -> Value:
    given = array_of(trace, value)
    result = given.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
    view = trace.allocated(result, shape_of(trace, shape), "array", zeros=False)
    trace.assign(view, given)
    return view


def _like(value: float | None) -> Row:
    def row(trace: Expressions, given: Value, dtype: Value | None = None) -> Value:
        like = array_of(trace, given)
        result = like.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
        if isinstance(like, Number):
            return constant_number(result.type(value or 0))
        return _new(trace, like.shape, result, value)

    return row


def _full_like(trace: Expressions, given: Value, value: Value, dtype: Value | None = None) -> Value:
    like = array_of(trace, given)
    result = like.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
    view = trace.allocated(result, like.shape, "array", zeros=False)
    trace.assign(view, array_of(trace, value))
    return view


def _arange(trace: Expressions, *ends: Value, dtype: Value | None = None) -> Value:
    numbers = [one for one in ends if isinstance(one, Number)]
    if len(numbers) != len(ends) or any(one.affine is None for one in numbers):
        raise Refused("np.arange of what are no integers of sizes", "use np.linspace")
    forms = [one.affine for one in numbers if one.affine is not None]
    lower = forms[0] if len(forms) > 1 else number(0)
    upper = forms[1] if len(forms) > 1 else forms[0]
    step = forms[2] if len(forms) > 2 else number(1)
    if not step.is_constant or step.constant == 0:
        raise Refused("the step of np.arange is no constant")
    distance = upper.minus(lower) if step.constant > 0 else lower.minus(upper)
    size = abs(step.constant)
    count = distance.plus(size - 1).floor(size)
    if trace.facts.holds(count) is False:
        count = number(0)
    result = INT64 if dtype is None else dtype_of(dtype)

    def element(index: Indices) -> Expression:
        at = index[0]
        if isinstance(at, Affine):
            tree = at.times(step.constant).plus(lower).tree("int64")
        else:
            tree = ex.sum_of(ex.product_of(step.constant, at), lower.tree("int64"))
        return converted_tree(tree, INT64, result)

    return Lazy(result, (count,), element)


def _linspace(
    trace: Expressions, start: Value, stop: Value, num: Value | None = None, **named: Any
) -> Value:
    dtype = named.pop("dtype", Constant(None))
    result = FLOAT64 if dtype == Constant(None) else dtype_of(dtype)
    has_end = flag_of(named.pop("endpoint", constant_number(value=True)))
    if named:
        raise Refused(f"np.linspace has the argument '{next(iter(named))}'")
    if result.kind != "f":
        raise Refused(f"np.linspace of {result}", "convert it: .astype()")
    count = affine_number(number(50)) if num is None else num
    assert isinstance(count, Number)
    if count.affine is None:
        raise Refused("np.linspace of a number of elements that data decides")
    one, other = array_of(trace, start), array_of(trace, stop)
    if not (isinstance(one, Number) and isinstance(other, Number)):
        raise Refused("np.linspace between arrays")
    if not trace.facts.holds(count.affine.minus(2)):
        return _few_numbers(trace, one, count.affine, result)
    low, high = (
        trace.frozen(Number(FLOAT64, tree=operand_tree(v, v.element(), FLOAT64)))
        for v in (one, other)
    )
    last = count.affine.minus(1) if has_end else count.affine
    distance = trace.operated("-", high, low)
    step = trace.operated(
        "/", distance, Number(FLOAT64, tree=ex.converted("float64", last.tree("int64")))
    )
    assert isinstance(step, Number)
    step = trace.frozen(step)

    def element(index: Indices) -> Expression:
        (at,) = index
        tree = at.tree("int64") if isinstance(at, Affine) else at
        place = ex.converted("float64", tree)
        inner = ex.sum_of(ex.product_of(place, step.element()), low.element())
        is_last = ex.Comparison(at.tree() if isinstance(at, Affine) else at, "==", last.tree())
        return converted_tree(ex.If(is_last, high.element(), inner), FLOAT64, result)

    return Lazy(result, (count.affine,), element)


def _few_numbers(trace: Expressions, start: Number, count: Affine, dtype: np.dtype) -> Value:
    """Return the numbers of `np.linspace` that are fewer than two."""
    if not trace.facts.holds(count):
        raise Refused("np.linspace of a negative number of elements")
    extent = number(1) if trace.facts.equal(count, number(1)) else number(0)
    tree = operand_tree(start, start.element(), FLOAT64)
    return Lazy(dtype, (extent,), lambda _index: converted_tree(tree, FLOAT64, dtype))


def _eye(
    trace: Expressions, rows: Value, columns: Value | None = None, dtype: Value | None = None
) -> Value:
    (n,) = shape_of(trace, rows)
    m = n if columns is None or columns == Constant(None) else shape_of(trace, columns)[0]
    result = FLOAT64 if dtype is None else dtype_of(dtype)
    one, zero = literal(1, result), literal(0, result)

    def element(index: Indices) -> Expression:
        i, j = [at.tree() if isinstance(at, Affine) else at for at in index]
        return ex.If(ex.Comparison(i, "==", j), one, zero)

    return Lazy(result, (n, m), element)


def _triangle(sign: str) -> Row:
    def row(trace: Expressions, value: Value, k: Value | None = None) -> Value:
        given = array_with_axes(trace, value)
        if len(given.shape) != 2:
            raise Refused("a triangle of what is no matrix")
        offset = 0 if k is None else constant_int(k)
        zero = literal(0, given.dtype)

        def element(index: Indices) -> Expression:
            i, j = [at.tree() if isinstance(at, Affine) else at for at in index]
            shifted = ex.sum_of(i, offset) if offset else i
            return ex.If(ex.Comparison(j, sign, shifted), given.element(index), zero)

        return Lazy(given.dtype, given.shape, element, isinstance(given, Lazy) and given.is_costly)

    return row


ROWS: dict[Any, Row] = {
    np.zeros: _filled(0),
    np.empty: _filled(None),
    np.ndarray: _filled(None),
    np.ones: _filled(1),
    np.full: _full,
    np.zeros_like: _like(0),
    np.empty_like: _like(None),
    np.ones_like: _like(1),
    np.full_like: _full_like,
    np.arange: _arange,
    np.linspace: _linspace,
    np.eye: _eye,
    np.identity: _eye,
    np.triu: _triangle(">="),
    np.tril: _triangle("<="),
}
