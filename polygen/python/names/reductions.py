"""NumPy's reductions along axes, also of elements that a mask chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.operations import find_operation
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import (
    Row,
    array_of,
    array_with_axes,
    axes_of,
    dtype_of,
    flag_of,
    stored_into,
)
from polygen.python.refused import Refused
from polygen.python.values import (
    BOOL,
    FLOAT64,
    INT64,
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Masked,
    Number,
    Several,
    Value,
    affine_number,
    converted_tree,
    literal,
)


def _reduction(operation: str) -> Row:
    def row(
        trace: Expressions,
        value: Value,
        axis: Value | None = None,
        dtype: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        if isinstance(value, Masked):
            return _masked_reduction(trace, operation, value, axis)
        given = array_of(trace, value)
        if isinstance(given, Number):
            return given
        result = _reduced_type(operation, given.dtype, dtype)
        found = reduced(trace, operation, given, result, axis, keeps=flag_of(keepdims))
        return found if out is None else stored_into(trace, out, found)

    return row


def _reduced_type(operation: str, dtype: np.dtype, asked: Value | None) -> np.dtype:
    if asked is not None and asked != Constant(None):
        return dtype_of(asked)
    if operation in ("any", "all"):
        return BOOL
    if operation in ("sum", "product") and dtype.kind in "bi" and dtype.itemsize < 8:
        return INT64
    if operation in ("sum", "product") and dtype.kind == "u" and dtype.itemsize < 8:
        return np.dtype("uint64")
    return dtype


def reduced(
    trace: Expressions,
    operation: str,
    value: Arrayed,
    dtype: np.dtype,
    axis: Value | None,
    *,
    keeps: bool,
) -> Number | Lazy:
    """Return a reduction along axes."""
    value_ = trace.shared(value)
    assert not isinstance(value_, Number)
    value = value_
    axes = axes_of(axis, len(value.shape))
    if operation in ("max", "min"):
        for at in axes:
            if trace.facts.is_never_negative(value.shape[at].minus(1)):
                continue
            _check_not_empty(trace, operation, value.shape[at])
    kept = [e for at, e in enumerate(value.shape) if at not in axes]
    shape = tuple(
        [number(1) if at in axes else e for at, e in enumerate(value.shape)] if keeps else kept
    )
    computed = np.dtype("float64") if adds_floats(operation, dtype) else dtype

    def element(index: Indices) -> Expression:
        waiting = [i for at, i in enumerate(index) if not keeps or at not in axes]
        loops = [trace.reduced(value.shape[at]) for at in axes]
        places = [
            loops[axes.index(at)] if at in axes else waiting.pop(0)
            for at in range(len(value.shape))
        ]
        tree = converted_tree(value.element(tuple(places)), value.dtype, computed)
        names = tuple([next(iter(loop.symbols())) for loop in loops])
        if not names:
            return converted_tree(tree, computed, dtype)
        made = reduction_tree(operation, names, depending(tree, names))
        return converted_tree(made, computed, dtype)

    made = Lazy(dtype, shape, element, is_costly=True)
    return made if shape else trace.frozen(Number(dtype, tree=element(())), operation)


def _check_not_empty(trace: Expressions, operation: str, extent: Affine) -> None:
    """Let the call raise an error where there is nothing to reduce, if data decides that."""
    has_some = trace.facts.holds(extent.minus(1))
    if has_some is False:
        raise Refused(f"a {operation} of nothing is an error in NumPy")
    if has_some is None:
        _refuse_empty(trace, operation, ex.Comparison(extent.tree(), "<", 1))


def _refuse_empty(trace: Expressions, operation: str, is_empty: Expression) -> None:
    """Let the call raise NumPy's error where there is nothing to take an extreme of."""
    name = "maximum" if operation == "max" else "minimum"
    text = f"zero-size array to reduction operation {name} which has no identity"
    trace.fault(is_empty, ValueError, text)


def depending(tree: Expression, names: tuple[str, ...]) -> Expression:
    """Return what is reduced so that it mentions all loops, also where it is the same in all."""
    read = walk.free_variables(tree)
    for name in names:
        if name not in read:
            tree = ex.If(ex.Comparison(ex.Variable(name), ">=", 0), tree, tree)
    return tree


def adds_floats(operation: str, dtype: np.dtype) -> bool:
    """Tell whether a sum is computed in double precision: NumPy adds pairwise."""
    return operation == "sum" and dtype.kind == "f" and dtype.itemsize < 8


def reduction_tree(operation: str, names: tuple[str, ...], tree: Expression) -> Expression:
    """Return the reduction of an expression over loops."""
    found = find_operation(operation)
    assert found is not None
    return ex.Reduction(found, names, tree)


def _masked_reduction(
    trace: Expressions, operation: str, value: Masked, axis: Value | None
) -> Value:
    over = _masked_axes(value, axis)
    dtype = _reduced_type(operation, value.dtype, None)
    if operation in ("max", "min"):
        if value.rows or value.dtype.kind not in "iuf":
            raise Refused(f"the {operation} of rows that a mask chooses", "use np.where")
        count = _count_of_chosen(trace, value)
        _refuse_empty(trace, operation, ex.Comparison(count.element(), "==", 0))
    chosen = _chosen(trace, value, dtype, operation)
    return reduced(trace, operation, chosen, dtype, over, keeps=False)


def _masked_axes(value: Masked, axis: Value | None) -> Value | None:
    """Return the axes of an array along which elements that a mask chooses are reduced."""
    if axis is None or axis == Constant(None):
        return None
    if axes_of(axis, 1 + value.rows) != [0]:
        raise Refused("rows that a mask chooses are reduced along themselves", "use np.where")
    rank = len(value.data.shape) - value.rows
    return Several(tuple([affine_number(number(at)) for at in range(rank)]))


def _identity(operation: str, dtype: np.dtype) -> Expression:
    """Return what changes no reduction of elements."""
    if operation in ("max", "min"):
        sign = -1 if operation == "max" else 1
        if dtype.kind == "f":
            return literal(sign * np.inf, dtype)
        info = np.iinfo(dtype)
        return literal(int(info.min if sign < 0 else info.max), dtype)
    return literal(1 if operation in ("product", "all") else 0, dtype)


def _chosen(trace: Expressions, value: Masked, dtype: np.dtype, operation: str) -> Lazy:
    data, mask = value.data, value.mask
    identity = _identity(operation, dtype)

    def element(index: Indices) -> Expression:
        own = converted_tree(data.element(index), data.dtype, dtype)
        return ex.If(mask.element(index), own, identity)

    del trace
    return Lazy(dtype, data.shape, element)


def count_along(trace: Expressions, value: Arrayed, axes: Sequence[int]) -> Number:
    """Return how many elements are reduced to one."""
    total = affine_number(number(1))
    for at in axes:
        total = cast("Number", trace.operated("*", total, affine_number(value.shape[at])))
    return total


def _mean(
    trace: Expressions,
    value: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    if isinstance(value, Masked):
        return _masked_mean(trace, value, axis)
    given = array_with_axes(trace, value)
    asked = None if dtype is None else dtype_of(dtype)
    result = asked or (FLOAT64 if given.dtype.kind in "biu" else given.dtype)
    total = reduced(trace, "sum", given, result, axis, keeps=flag_of(keepdims))
    count = count_along(trace, given, axes_of(axis, len(given.shape)))
    return trace.operated("/", total, count)


def _count_of_chosen(trace: Expressions, value: Masked) -> Number:
    """Return how many elements, or rows, a mask chooses."""
    rank = len(value.data.shape) - value.rows
    first = tuple([number(0)] * value.rows)
    ones = Lazy(
        INT64,
        value.data.shape[:rank],
        lambda index: ex.If(
            value.mask.element((*index, *first)), literal(1, INT64), literal(0, INT64)
        ),
    )
    count = reduced(trace, "sum", ones, INT64, None, keeps=False)
    assert isinstance(count, Number)
    return count


def _masked_mean(trace: Expressions, value: Masked, axis: Value | None) -> Value:
    dtype = FLOAT64 if value.dtype.kind in "biu" else value.dtype
    over = _masked_axes(value, axis)
    total = reduced(trace, "sum", _chosen(trace, value, dtype, "sum"), dtype, over, keeps=False)
    count = _count_of_chosen(trace, value)
    if over is None:
        for extent in value.data.shape[len(value.data.shape) - value.rows :]:
            count = cast("Number", trace.operated("*", count, affine_number(extent)))
    return trace.operated(
        "/", total, Number(dtype, False, converted_tree(count.element(), INT64, dtype))
    )


ROWS: dict[Any, Row] = {
    np.sum: _reduction("sum"),
    np.prod: _reduction("product"),
    np.max: _reduction("max"),
    np.amax: _reduction("max"),
    np.min: _reduction("min"),
    np.amin: _reduction("min"),
    np.any: _reduction("any"),
    np.all: _reduction("all"),
    np.mean: _mean,
}
METHODS: dict[str, Any] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "any": np.any,
    "all": np.all,
}
