"""Deviations, places of extremes, counts, traces and running sums: rows of the table of names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.operations import find_operation
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import array_of, array_with_axes, axes_of, axis_of
from polygen.python.names.basic_table import TABLE
from polygen.python.names.reductions import count_along
from polygen.python.nodes import Assign
from polygen.python.refused import Refused
from polygen.python.subscripts import ELLIPSIS, Slice, subscripted
from polygen.python.values import (
    INT64,
    Arrayed,
    Constant,
    Index,
    Indices,
    Lazy,
    Masked,
    Number,
    Value,
    View,
    affine_number,
    constant_number,
    converted_tree,
    index_tree,
)

_YES = constant_number(value=True)


# --- deviations


def variance(
    trace: Expressions,
    value: Value,
    axis: Value | None = None,
    *,
    ddof: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """Return ``np.var``: the mean of squares of what is beyond the mean."""
    given = array_with_axes(trace, value)
    if given.dtype.kind == "c":
        raise Refused("the variance of complex numbers", "add up abs(x - x.mean())**2")
    held = trace.stored(given) if isinstance(given, Lazy) else given
    mean = TABLE[np.mean](trace, held, axis, keepdims=_YES)
    beyond = array_with_axes(trace, trace.operated("-", held, mean))
    held = trace.stored(beyond)
    squares = trace.operated("*", held, held)
    if ddof is None or (isinstance(ddof, Number) and ddof.is_constant and ddof.value == 0):
        return TABLE[np.mean](trace, squares, axis, keepdims=keepdims)
    total = TABLE[np.sum](trace, squares, axis, keepdims=keepdims)
    count = count_along(trace, held, axes_of(axis, len(held.shape)))
    return trace.operated("/", total, trace.operated("-", count, ddof))


def deviation(trace: Expressions, value: Value, axis: Value | None = None, **named: Any) -> Value:
    """Return ``np.std``."""
    return trace.called(np.sqrt, [variance(trace, value, axis, **named)])


# --- places of extremes


def place_of(operation: str) -> Callable[..., Value]:
    """Return the row of ``np.argmax`` or ``np.argmin``."""

    def row(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
        given = trace.shared(array_with_axes(trace, value))
        assert not isinstance(given, Number)
        if given.dtype.kind == "c":
            raise Refused(f"np.{operation} of complex numbers")
        axes = axes_of(axis, len(given.shape))
        for at in axes:
            least = given.shape[at].minus(1)
            if not (trace.facts.is_never_negative(least) or trace.facts.holds(least)):
                raise Refused(f"np.{operation} of nothing is an error in NumPy")
        kept = [at for at in range(len(given.shape)) if at not in axes]
        shape = tuple([given.shape[at] for at in kept])

        def element(index: Indices) -> Expression:
            return _place(trace, operation, given, axes, dict(zip(kept, index, strict=True)))

        if not shape:
            return trace.frozen(Number(INT64, tree=element(())), operation)
        return Lazy(INT64, shape, element, is_costly=True)

    return row


def _place(
    trace: Expressions, operation: str, given: Arrayed, axes: list[int], kept: dict[int, Index]
) -> Expression:
    """Return the place of an extreme along axes, which are counted as one."""
    loops = {at: trace.reduced(given.shape[at]) for at in axes}
    places = tuple([loops[at] if at in loops else kept[at] for at in range(len(given.shape))])
    tree = given.element(places)
    if given.dtype.kind == "b":
        tree = converted_tree(tree, given.dtype, np.dtype("int8"))
    flat: Expression = ex.converted("int64", 0)
    for at in axes:
        inner = ex.product_of(flat, given.shape[at].tree("int64"))
        flat = ex.sum_of(inner, loops[at].tree("int64"))
    found = find_operation(operation)
    assert found is not None
    names = tuple([name for at in axes for name in loops[at].symbols()])
    if not names:
        return ex.converted("int64", 0)
    both = ex.Reduction(found, names, ex.Several((tree, flat)))
    return ex.converted("int64", ex.Component(both, 1))


# --- counts and traces


def count_nonzero(
    trace: Expressions, value: Value, axis: Value | None = None, *, keepdims: Value | None = None
) -> Value:
    """Return ``np.count_nonzero``; of all elements it is an integer of Python's."""
    given = array_with_axes(trace, value)
    zero = constant_number(given.dtype.type(0))
    told = trace.operated("!=", given, zero)
    total = TABLE[np.sum](trace, told, axis, keepdims=keepdims)
    if isinstance(total, Number) and (axis is None or axis == Constant(None)):
        return Number(INT64, weak=True, tree=total.element())
    return total


def diagonal(trace: Expressions, value: Value, k: Value | None = None) -> Arrayed:
    """Return a diagonal of a matrix, a view of it, or a matrix with one, as ``np.diag`` does."""
    given = array_with_axes(trace, value)
    if k is not None and not (isinstance(k, Number) and k.affine == number(0)):
        raise Refused("a diagonal beside the main one", "write a[k:, :].trace() or a loop")
    if len(given.shape) == 1:
        return _diagonal_matrix(given)
    if len(given.shape) != 2:
        raise Refused("a diagonal of what is no matrix")
    rows, columns = given.shape
    is_tall = trace.facts.holds(rows.minus(columns))
    if is_tall is None:
        raise Refused("a diagonal of a matrix whose extents data decides")
    extent = columns if is_tall else rows
    if isinstance(given, View):
        return _diagonal_view(given, extent)
    return Lazy(given.dtype, (extent,), lambda index: given.element((index[0], index[0])))


def _diagonal_view(given: View, extent: Affine) -> View:
    inner, step = given.place, ("attribute", "diagonal()")

    def place(index: Indices) -> Indices:
        return inner((index[0], index[0]))

    recipe = None if given.recipe is None else (*given.recipe, step)
    return replace(
        given,
        shape=(extent,),
        place=place,
        is_whole=False,
        recipe=recipe,
    )


def _diagonal_matrix(given: Arrayed) -> Lazy:
    zero = ex.converted(given.dtype.name, 0)
    if given.dtype.kind == "b":
        zero = ex.converted("bool", 0)

    def element(index: Indices) -> Expression:
        i, j = map(index_tree, index)
        return ex.If(ex.Comparison(i, "==", j), given.element((index[0],)), zero)

    return Lazy(given.dtype, (given.shape[0], given.shape[0]), element)


def matrix_trace(trace: Expressions, value: Value) -> Value:
    """Return ``np.trace``."""
    given = array_with_axes(trace, value)
    if len(given.shape) != 2:
        raise Refused("the trace of what is no matrix")
    return TABLE[np.sum](trace, diagonal(trace, given))


# --- running sums and differences


def running(ufunc: np.ufunc, sign: str) -> Callable[..., Value]:
    """Return the row of ``np.cumsum`` or ``np.cumprod``: one element after the other."""

    def row(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
        given = array_with_axes(trace, value)
        at = axis_of(axis, len(given.shape))
        dtype = ufunc.accumulate(np.ones(1, given.dtype)).dtype
        held = trace.stored(given) if isinstance(given, Lazy) else given
        made = trace.allocated(dtype, held.shape, ufunc.__name__, zeros=False)
        extent = held.shape[at]
        before, after = held.shape[:at], held.shape[at + 1 :]
        with trace.each((*before, *after)) as around:

            def place(index: Affine) -> Indices:
                return (*around[:at], index, *around[at:])

            total = trace.scalar("total", dtype)
            start = converted_tree(ex.converted("int64", sign == "*"), INT64, dtype)
            trace.emit(Assign(ex.Variable(total), start, trace.node))
            with trace.loop("q", number(0), extent) as index:
                tree = converted_tree(held.element(place(index)), held.dtype, dtype)
                join = ex.sum_of if sign == "+" else ex.product_of
                sum_ = join(ex.Variable(total), tree)
                trace.emit(Assign(ex.Variable(total), sum_, trace.node))
                trace.emit(Assign(made.element(place(index)), ex.Variable(total), trace.node))
        return made

    return row


def differences(
    trace: Expressions, value: Value, n: Value | None = None, axis: Value | None = None
) -> Value:
    """Return ``np.diff`` of neighbours along the last axis."""
    given = array_with_axes(trace, value)
    if given.dtype.kind == "b":
        raise Refused("np.diff of truth values", "compare them with '!='")
    rank = len(given.shape)
    if axis is not None and axes_of(axis, rank) != [rank - 1]:
        raise Refused("np.diff along another axis than the last", "subtract slices")
    if n is not None and not (isinstance(n, Number) and n.affine == number(1)):
        raise Refused("np.diff of a higher order", "call it again")
    one = affine_number(number(1))
    upper = subscripted(trace, given, (ELLIPSIS, Slice(one, None, None)))
    lower = subscripted(trace, given, (ELLIPSIS, Slice(None, constant_number(-1), None)))
    return trace.operated("-", upper, lower)


def rounded(trace: Expressions, value: Value, decimals: Value | None = None) -> Value:
    """Return ``np.round`` to whole numbers: halves to even ones."""
    if decimals is not None and not (isinstance(decimals, Number) and decimals.value == 0):
        raise Refused("np.round to decimals", "multiply, round and divide")
    if isinstance(value, Masked):
        raise Refused("np.round of elements that a mask chooses", "round before")
    given = array_of(trace, value)
    if given.dtype.kind == "b":
        raise Refused("np.round of truth values")
    return given if given.dtype.kind in "iu" else trace.called(np.rint, [given])


def numbers_for_what_is_none(trace: Expressions, value: Value) -> Value:
    """Return ``np.nan_to_num``: 0 for what is no number, the largest numbers for infinities."""
    given = array_of(trace, value)
    if given.dtype.kind != "f":
        raise Refused(f"np.nan_to_num of {given.dtype}", "only floats have what is no number")
    held = trace.stored(given) if isinstance(given, Lazy) else given
    largest = constant_number(np.finfo(given.dtype).max)
    clipped = TABLE[np.clip](trace, held, constant_number(-largest.value), largest)
    is_none = trace.called(np.isnan, [held])
    return TABLE[np.where](trace, is_none, constant_number(given.dtype.type(0)), clipped)


ROWS: dict[Any, Callable[..., Value]] = {
    np.var: variance,
    np.std: deviation,
    np.argmax: place_of("argmax"),
    np.argmin: place_of("argmin"),
    np.count_nonzero: count_nonzero,
    np.diag: diagonal,
    np.diagonal: diagonal,
    np.trace: matrix_trace,
    np.cumsum: running(np.add, "+"),
    np.cumprod: running(np.multiply, "*"),
    np.diff: differences,
    np.nan_to_num: numbers_for_what_is_none,
    np.round: rounded,
    np.around: rounded,
}
METHODS = {
    "var": np.var,
    "std": np.std,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "trace": np.trace,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "round": np.round,
}
