"""NumPy's reductions along axes, also of elements that a mask chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.operations import find_operation
from polygen.python.affine import number
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
            if trace.facts.holds(value.shape[at].minus(1)) is not True:
                raise Refused(f"a {operation} of nothing is an error in NumPy")
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
    if axis is not None and axis != Constant(None):
        raise Refused("elements that a mask chooses have one axis")
    dtype = _reduced_type(operation, value.dtype, None)
    if operation in ("sum", "product"):
        return reduced(
            trace, operation, _chosen(trace, value, dtype, operation), dtype, None, keeps=False
        )
    raise Refused(f"the {operation} of elements that a mask chooses", "use np.where")


def _chosen(trace: Expressions, value: Masked, dtype: np.dtype, operation: str) -> Lazy:
    data, mask = value.data, value.mask
    identity = literal(1 if operation == "product" else 0, dtype)

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
        return _masked_mean(trace, value)
    given = array_with_axes(trace, value)
    asked = None if dtype is None else dtype_of(dtype)
    result = asked or (FLOAT64 if given.dtype.kind in "biu" else given.dtype)
    total = reduced(trace, "sum", given, result, axis, keeps=flag_of(keepdims))
    count = count_along(trace, given, axes_of(axis, len(given.shape)))
    return trace.operated("/", total, count)


def _masked_mean(trace: Expressions, value: Masked) -> Value:
    dtype = FLOAT64 if value.dtype.kind in "biu" else value.dtype
    total = reduced(trace, "sum", _chosen(trace, value, dtype, "sum"), dtype, None, keeps=False)
    ones = Lazy(
        INT64,
        value.data.shape,
        lambda index: ex.If(value.mask.element(index), literal(1, INT64), literal(0, INT64)),
    )
    count = reduced(trace, "sum", ones, INT64, None, keeps=False)
    assert isinstance(count, Number)
    return trace.operated(
        "/", total, Number(dtype, False, converted_tree(count.element(), INT64, dtype))
    )


ROWS: dict[Any, Row] = {
    np.sum: _reduction("sum"),
    np.prod: _reduction("product"),
    np.max: _reduction("max"),
    np.min: _reduction("min"),
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
