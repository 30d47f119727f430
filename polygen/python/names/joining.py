"""Arrays joined, with borders, or turned around: rows of the table of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import array_of, axes_of
from polygen.python.names.basic_table import TABLE
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
    index_tree,
)


def _parts(trace: Expressions, value: Value) -> list[Arrayed]:
    if not isinstance(value, Several) or not value.parts:
        raise Refused("arrays are joined that are no tuple or list", "write them in brackets")
    found = [array_of(trace, part) for part in value.parts]
    arrays = [part for part in found if not isinstance(part, Number)]
    if len(arrays) < len(found):
        raise Refused("a scalar is joined to others", "make an array of one element of it")
    return arrays


def concatenated(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
    """Return ``np.concatenate``."""
    parts = _parts(trace, value)
    (at,) = [0] if axis is None else axes_of(axis, len(parts[0].shape))
    return _joined(trace, parts, at)


def _joined(trace: Expressions, parts: Sequence[Arrayed], at: int) -> View:
    rank = len(parts[0].shape)
    if any(len(part.shape) != rank for part in parts):
        raise Refused("arrays with different numbers of axes are joined")
    total = number(0)
    for part in parts:
        total = total.plus(part.shape[at])
        for axis in set(range(rank)) - {at}:
            if not trace.extents_agree(part.shape[axis], parts[0].shape[axis]):
                raise Refused("arrays of different extents are joined")
    shape = (*parts[0].shape[:at], total, *parts[0].shape[at + 1 :])
    dtype = np.result_type(*[part.dtype for part in parts])
    made = trace.allocated(dtype, shape, "joined", zeros=False)
    begin = number(0)
    for part in parts:
        end = begin.plus(part.shape[at])
        trace.assign(_between(trace, made, {at: (begin, end)}), part)
        begin = end
    return made


def _between(trace: Expressions, array: View, ends: dict[int, tuple[Affine, Affine]]) -> View:
    """Return a part of an array, between two places along some axes."""
    keys = [
        Slice(affine_number(ends[axis][0]), affine_number(ends[axis][1]), None)
        if axis in ends
        else Slice(None, None, None)
        for axis in range(len(array.shape))
    ]
    found = subscripted(trace, array, tuple(keys))
    assert isinstance(found, View)
    return found


def side_by_side(trace: Expressions, value: Value) -> Value:
    """Return ``np.hstack``."""
    parts = _parts(trace, value)
    return _joined(trace, parts, 0 if len(parts[0].shape) == 1 else 1)


def one_below_the_other(trace: Expressions, value: Value) -> Value:
    """Return ``np.vstack``."""
    parts = [
        part if len(part.shape) > 1 else _with_axis(trace, part, 0) for part in _parts(trace, value)
    ]
    return _joined(trace, parts, 0)


def stacked(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
    """Return ``np.stack``."""
    parts = _parts(trace, value)
    (at,) = [0] if axis is None else axes_of(axis, len(parts[0].shape) + 1)
    return _joined(trace, [_with_axis(trace, part, at) for part in parts], at)


def columns(trace: Expressions, value: Value) -> Value:
    """Return ``np.column_stack``."""
    parts = [
        part if len(part.shape) > 1 else _with_axis(trace, part, 1) for part in _parts(trace, value)
    ]
    return _joined(trace, parts, 1)


def _with_axis(trace: Expressions, array: Arrayed, at: int) -> Arrayed:
    found = TABLE[np.expand_dims](trace, array, constant_number(at))
    assert isinstance(found, Lazy | View)
    return found


# --- borders


def padded(
    trace: Expressions,
    value: Value,
    pad_width: Value,
    mode: Value | None = None,
    *,
    constant_values: Value | None = None,
) -> Value:
    """Return ``np.pad`` with a constant around an array."""
    if mode is not None and mode != Constant("constant"):
        raise Refused("np.pad with something else than a constant", "assign to slices")
    array = array_of(trace, value)
    if isinstance(array, Number):
        raise Refused("np.pad of a scalar")
    widths = _widths(pad_width, len(array.shape))
    shape = tuple(
        [e.plus(low).plus(high) for e, (low, high) in zip(array.shape, widths, strict=True)]
    )
    made = trace.allocated(array.dtype, shape, "padded", zeros=constant_values is None)
    if constant_values is not None or made.base.role == "temporary":
        border = constant_number(0) if constant_values is None else constant_values
        trace.assign(made, array_of(trace, border))
    ends = {axis: (low, low.plus(array.shape[axis])) for axis, (low, _high) in enumerate(widths)}
    trace.assign(_between(trace, made, ends), array)
    return made


def _widths(value: Value, rank: int) -> list[tuple[Affine, Affine]]:
    """Return how many elements are added before and behind each axis."""
    if isinstance(value, Number):
        return [(_width(value), _width(value))] * rank
    if not isinstance(value, Several):
        raise Refused("a width of np.pad is no integer")
    if all(isinstance(part, Number) for part in value.parts):
        return [_pair(value)] * rank
    pairs = [_pair(part) for part in value.parts]
    if len(pairs) == 1:
        return pairs * rank
    if len(pairs) != rank:
        raise Refused("np.pad has as many widths as the array has axes")
    return pairs


def _pair(value: Value) -> tuple[Affine, Affine]:
    if not isinstance(value, Several) or len(value.parts) not in (1, 2):
        raise Refused("a width of np.pad is no pair of integers")
    return _width(value.parts[0]), _width(value.parts[-1])


def _width(value: Value) -> Affine:
    if isinstance(value, Number) and value.affine is not None:
        return value.affine
    raise Refused("a width of np.pad is no integer that sizes decide")


# --- turning around


def rolled(trace: Expressions, value: Value, shift: Value, axis: Value | None = None) -> Value:
    """Return ``np.roll``: what falls off one end comes back at the other."""
    given = array_of(trace, value)
    if isinstance(given, Number):
        return given
    rank = len(given.shape)
    if axis is None and rank > 1:
        raise Refused("np.roll of a matrix as if it were a vector", "name the axis")
    axes = axes_of(axis, rank)
    shifts = shift.parts if isinstance(shift, Several) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise Refused("np.roll has other numbers of shifts and of axes", "name one axis a call")
    found: Arrayed = given
    for by, at in zip(shifts, axes, strict=True):
        found = _rolled_along(trace, found, by, at)
    return found


def _rolled_along(trace: Expressions, given: Arrayed, shift: Value, at: int) -> Arrayed:
    if not isinstance(shift, Number) or shift.dtype.kind not in "iu":
        raise Refused("np.roll by what is no integer")
    extent = given.shape[at]
    distance = _distance(trace, shift, extent)

    def element(index: Indices) -> Expression:
        far = index_sum(index[at], extent.minus(distance))
        near = index_sum(index[at], distance.times(-1))
        parts = [given.element((*index[:at], i, *index[at + 1 :])) for i in (far, near)]
        is_far = ex.Comparison(index_tree(index[at]), "<", distance.tree())
        return ex.If(is_far, *parts)

    costly = isinstance(given, Lazy) and given.is_costly
    return (
        Lazy(given.dtype, given.shape, element, costly)
        if distance != number(0)
        else (trace.copied(given))
    )


def _distance(trace: Expressions, shift: Number, extent: Affine) -> Affine:
    """Return how far elements go up, at least 0 and less than there are."""
    facts = trace.facts
    if extent == number(1) or facts.holds(extent.minus(1)) is False:
        return number(0)
    form = shift.affine if shift.cell is None else None
    if form is not None and facts.holds(form) is not None:
        found = form if facts.holds(form) else form.plus(extent)
        if facts.holds(found) and facts.holds(extent.minus(1).minus(found)):
            return found
    least = ex.Max((1, extent.tree("int64")))
    rest = ex.Remainder(ex.converted("int64", shift.element()), least)
    return trace.integer(rest, number(0), extent.minus(1), "distance")


ROWS: dict[Any, Callable[..., Value]] = {
    np.concatenate: concatenated,
    np.hstack: side_by_side,
    np.vstack: one_below_the_other,
    np.stack: stacked,
    np.column_stack: columns,
    np.pad: padded,
    np.roll: rolled,
}
