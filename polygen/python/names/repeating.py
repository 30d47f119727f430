"""NumPy's functions that return elements several times, or choose them from several arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import array_of, array_with_axes, axis_of, shape_of
from polygen.python.names.basic_table import TABLE
from polygen.python.names.reshaping import extent_in_call, ravel, reshaped
from polygen.python.refused import Refused
from polygen.python.values import (
    Arrayed,
    Constant,
    Lazy,
    Number,
    Several,
    Value,
    constant_number,
)


def broadcast_to(trace: Expressions, value: Value, shape: Value) -> Value:
    """Return ``np.broadcast_to``: not a view, but what can be read as one."""
    given = array_of(trace, value)
    extents = shape_of(trace, shape)
    if trace.broadcast([given.shape, extents]) != extents:
        raise Refused("an array is broadcast to a shape that does not go with its own")
    rank = len(extents)
    return Lazy(given.dtype, extents, lambda index: trace.element_of(given, rank, index))


def tile(trace: Expressions, value: Value, reps: Value) -> Value:
    """Return ``np.tile``: copies of an array side by side along each axis."""
    given = array_with_axes(trace, value)
    counts = list(shape_of(trace, reps))
    counts = [number(1)] * (len(given.shape) - len(counts)) + counts
    extents = [number(1)] * (len(counts) - len(given.shape)) + list(given.shape)
    rank = len(given.shape)
    pairs = list(zip(counts, extents, strict=True))
    shape = tuple([form for pair in pairs for form in pair])

    def element(index: Any) -> Any:
        return given.element(tuple(index[1::2][len(pairs) - rank :]))

    return _merged(trace, Lazy(given.dtype, shape, element), pairs)


def repeat(trace: Expressions, value: Value, repeats: Value, axis: Value | None = None) -> Value:
    """Return ``np.repeat``: each element, or row, as many times."""
    if axis is None or axis == Constant(None):
        given, at = array_with_axes(trace, ravel(trace, value)), 0
    else:
        given = array_with_axes(trace, value)
        at = axis_of(axis, len(given.shape))
    if not isinstance(repeats, Number):
        raise Refused("np.repeat of each element another number of times")
    (count,) = shape_of(trace, repeats)
    one = number(1)
    pairs = [(extent, count if k == at else one) for k, extent in enumerate(given.shape)]
    shape = tuple([form for pair in pairs for form in pair])
    return _merged(
        trace, Lazy(given.dtype, shape, lambda index: given.element(tuple(index[::2]))), pairs
    )


def _merged(trace: Expressions, lazy: Lazy, pairs: Sequence[tuple[Affine, Affine]]) -> Arrayed:
    """Return an array with each two axes as one."""
    numbers = [
        constant_number(extent_in_call(trace, one) * extent_in_call(trace, other))
        for one, other in pairs
    ]
    return reshaped(trace, lazy, numbers)


def select(
    trace: Expressions, conditions: Value, choices: Value, default: Value | None = None
) -> Value:
    """Return ``np.select``: for each place the first choice whose condition holds."""
    if not isinstance(conditions, Several) or not isinstance(choices, Several):
        raise Refused("np.select of what are no lists")
    if len(conditions.parts) != len(choices.parts):
        raise Refused("np.select of lists of two lengths")
    found = constant_number(0) if default is None else default
    for condition, choice in zip(conditions.parts[::-1], choices.parts[::-1], strict=True):
        found = TABLE[np.where](trace, condition, choice, found)
    return found


ROWS: dict[Any, Callable[..., Value]] = {
    np.broadcast_to: broadcast_to,
    np.tile: tile,
    np.repeat: repeat,
    np.select: select,
}
METHODS = {"repeat": np.repeat}
