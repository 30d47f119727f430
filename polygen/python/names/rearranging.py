"""NumPy's functions that return the same elements with other axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import Row, array_of, array_with_axes, axes_of, axis_of
from polygen.python.refused import Refused
from polygen.python.subscripts import Slice, subscripted
from polygen.python.values import (
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Number,
    Several,
    Value,
    View,
    affine_number,
    constant_number,
    index_sum,
    index_times,
)


def rearranged(
    value: Arrayed, shape: tuple[Affine, ...], place: Callable[[Indices], Indices], step: Any
) -> Arrayed:
    """Return a value with other axes."""
    if isinstance(value, View):
        inner = value.place
        recipe = None if value.recipe is None or step is None else (*value.recipe, step)
        return View(
            value.base,
            shape,
            lambda i: inner(place(i)),
            recipe=recipe,
            is_gather=value.is_gather,
            part=value.part,
        )
    return Lazy(value.dtype, shape, lambda i: value.element(place(i)), value.is_costly)


def _transpose(trace: Expressions, value: Value, axes: Value | None = None, *more: Value) -> Value:
    given = array_of(trace, value)
    if isinstance(given, Number):
        return given
    rank = len(given.shape)
    if more and axes is not None:
        axes = Several((axes, *more))
    order = list(range(rank))[::-1] if axes is None else axes_of(axes, rank)
    shape = tuple([given.shape[at] for at in order])
    back = [order.index(at) for at in range(rank)]
    return rearranged(
        given, shape, lambda i: tuple([i[at] for at in back]), ("transpose", tuple(order))
    )


def _swapaxes(trace: Expressions, value: Value, one: Value, other: Value) -> Value:
    given = array_of(trace, value)
    order = list(range(len(given.shape)))
    a, b = (axis_of(v, len(order)) for v in (one, other))
    order[a], order[b] = order[b], order[a]
    return _transpose(trace, given, Several(tuple(map(constant_number, order))))


def _flip(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
    given = array_with_axes(trace, value)
    axes = axes_of(axis, len(given.shape))

    def place(index: Indices) -> Indices:
        return tuple(
            [
                index_sum(index_times(at, -1), given.shape[k].minus(1)) if k in axes else at
                for k, at in enumerate(index)
            ]
        )

    return rearranged(given, given.shape, place, ("flip", tuple(axes)))


def _expand_dims(trace: Expressions, value: Value, axis: Value) -> Value:
    given = array_with_axes(trace, value)
    at = axis_of(axis, len(given.shape) + 1)
    shape = (*given.shape[:at], number(1), *given.shape[at:])
    return rearranged(given, shape, lambda i: (*i[:at], *i[at + 1 :]), ("expand", at))


def _moveaxis(trace: Expressions, value: Value, source: Value, destination: Value) -> Value:
    given = array_with_axes(trace, value)
    rank = len(given.shape)
    old, new = (axis_of(v, rank) for v in (source, destination))
    order = [axis for axis in range(rank) if axis != old]
    order.insert(new, old)
    return _transpose(trace, given, Several(tuple(map(constant_number, order))))


def _squeeze(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
    """Return the array without axes of one element: a view, as of subscripts of 0 there."""
    given = array_with_axes(trace, value)
    single = [at for at, extent in enumerate(given.shape) if trace.is_one(extent)]
    gone = single if axis is None or axis == Constant(None) else axes_of(axis, len(given.shape))
    if not set(gone) <= set(single):
        raise Refused("np.squeeze of an axis with more than one element")
    zero, rest = affine_number(number(0)), Slice(None, None, None)
    keys = tuple([zero if at in gone else rest for at in range(len(given.shape))])
    found: Value = subscripted(trace, given, keys)
    return found


def _with_axes(least: int) -> Row:
    """Return the row of ``np.atleast_1d`` or ``np.atleast_2d``: new axes come first."""

    def row(trace: Expressions, value: Value) -> Value:
        given = array_with_axes(trace, value)
        for _ in range(least - len(given.shape)):
            found = _expand_dims(trace, given, constant_number(0))
            given = array_with_axes(trace, found)
        return given

    return row


ROWS: dict[Any, Row] = {
    np.moveaxis: _moveaxis,
    np.squeeze: _squeeze,
    np.atleast_1d: _with_axes(1),
    np.atleast_2d: _with_axes(2),
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.flip: _flip,
    np.expand_dims: _expand_dims,
}
METHODS: dict[str, Any] = {
    "transpose": np.transpose,
    "swapaxes": np.swapaxes,
    "squeeze": np.squeeze,
}
