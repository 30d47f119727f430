"""Subscripts become offsets: ``a[i, j]`` becomes element ``i*m + j``.

Of an array with axes tagged ``vec`` or ``sep``, a subscript is an offset, in vectors, and the
constants that choose a component or an array: ``a[i, 2]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.analysis.integers.recombined_numbers import recombined
from polygen.errors import InternalError, SubscriptNotConstant
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, GlobalArg, ImageArg
from polygen.ir.expression import Expression
from polygen.ir.layout import (
    Auto,
    Vector,
    constant_axes,
    element_strides,
    in_units,
    nest,
    offset_of,
    unit,
)
from polygen.ir.show_expression import show_expression

_Value: TypeAlias = LinearForm | Expression  # a form wherever it is affine
_ONE: _Value = LinearForm(1)


def linearize(node: Expression, arrays: Mapping[str, Array], lane: str | None = None) -> Expression:
    """Return `node` with every subscript a single offset, in elements, and simplified.

    Of an image, there is one for each axis.  An array argument without axes is written ``a[0]``.

    Parameters:
        node: an expression.
        arrays: all that have elements.
        lane: an iname that may choose components of vectors.
    """
    if isinstance(node, ex.Subscript):
        index = [_subscript(e, arrays, lane) for e in ex.index_tuple(node)]
        array = arrays[ex.name_of(node)]
        if isinstance(array, ImageArg):
            return ex.Subscript(node.aggregate, tuple(map(_expression, index)))
        if array.dim_tags is None and offset_of(array) == 0:
            return ex.Subscript(node.aggregate, _row_major(index, array.shape or ()))
        chosen = [_constant(node, array, axis, index[axis], lane) for axis in constant_axes(array)]
        offset = _offset(index, array)
        return ex.Subscript(node.aggregate, (offset, *chosen) if chosen else offset)
    if isinstance(node, ex.Variable):
        scalar = arrays.get(node.name)
        if isinstance(scalar, GlobalArg) and scalar.shape == ():
            return ex.Subscript(node, _start(scalar))
        return node
    parts = walk.parts(node)
    return walk.rebuild(node, tuple([linearize(p, arrays, lane) for p in parts])) if parts else node


def _subscript(node: Expression, arrays: Mapping[str, Array], lane: str | None) -> _Value:
    form = linear_form(node)
    if form is None or not arrays.keys().isdisjoint(form.names()):
        return linearize(node, arrays, lane)
    return form


def simplify(node: Expression) -> Expression:
    """Return an integer expression in its normal form where it is affine, else as it is."""
    return node if isinstance(node, int) else _expression(_value(node))


def _value(node: Expression) -> _Value:
    return linear_form(node) or node


def _expression(value: _Value) -> Expression:
    return value.expression() if isinstance(value, LinearForm) else value


def _row_major(index: Sequence[_Value], shape: Sequence[Expression]) -> Expression:
    """Return the offset of an element, nested as Horner's scheme is: ``(i*m + j)*k + l``."""
    return _expression(_nested(index, [_value(extent) for extent in shape]))


def _nested(index: Sequence[_Value], rooms: Sequence[_Value]) -> _Value:
    """Return an offset by Horner's scheme; what are parts of one number at its end comes first.

    ``r // 10`` and ``r % 10``, where 10 is how many elements there are along the last axis, are
    ``r``.
    """
    last = max(len(index) - 1, 0)
    while last > 0 and _is_number(rooms[last]) and all(map(_is_divided, index[last - 1 :])):
        last -= 1
    inner = _horner(index[last:], rooms[last:])
    if last == 0:
        return inner
    outer, room = _horner(index[:last], rooms[:last]), rooms[last]
    scale = reduce(_times, rooms[last + 1 :], _ONE)
    if _is_number(room):
        return _plus(_times(outer, _times(room, scale)), inner)
    return _plus(_times(_times(outer, room), scale), inner)


def _horner(index: Sequence[_Value], rooms: Sequence[_Value]) -> _Value:
    total: _Value = LinearForm()
    for room, position in zip(rooms, index, strict=True):
        total = _plus(_times(total, room), position)
    return total


def _is_number(value: _Value) -> bool:
    return isinstance(value, LinearForm) and value.is_constant


def _is_divided(value: _Value) -> bool:
    return isinstance(value, LinearForm) and any(isinstance(t, FloorTerm) for t in value.terms)


def _offset(index: Sequence[_Value], array: Array) -> Expression:
    """Return the offset of an element in its layout, in elements or vectors."""
    start = _value(_start(array))
    axes = nest(array)
    if axes is not None:  # as Horner's scheme is
        total = _nested([index[axis] for axis, _ in axes], [_value(room) for _, room in axes])
        return _expression(_plus(total, start))
    strides, constants = element_strides(array) or (), constant_axes(array)
    terms = [
        _times(index[axis], _value(_in_units(array, stride)))
        for axis, stride in enumerate(strides)
        if axis not in constants
    ]
    return _expression(reduce(_plus, [*terms, start]))


def _start(array: Array) -> Expression:
    return _in_units(array, offset_of(array))


def _in_units(array: Array, elements: Expression | Auto | None) -> Expression:
    found = None
    if elements is not None and not isinstance(elements, Auto):
        found = in_units(elements, unit(array))
    if found is None:
        raise InternalError(f"'{array.name}' has a stride or an offset that is not known")
    return found


def _constant(
    node: ex.Subscript, array: Array, axis: int, value: _Value, lane: str | None
) -> Expression:
    """Return a subscript that chooses a component, or an array: a number for each lane.

    Raises:
        SubscriptNotConstant: if it is no number.
    """
    if isinstance(value, LinearForm) and value.is_constant:
        return value.constant
    if lane is not None and isinstance(value, LinearForm) and value.names() == frozenset((lane,)):
        return _expression(value)
    subscript = show_expression(ex.index_tuple(node)[axis])
    tag = (array.dim_tags or ())[axis]
    raise SubscriptNotConstant(
        f"'{show_expression(node)}' has the subscript '{subscript}' along an axis that is tagged "
        f"{tag}: which {'component' if isinstance(tag, Vector) else 'array'} that is has to be "
        "known when code is generated",
        remedy="write a number, or tag the inames in it 'unr', or one that is the component 'vec'",
    )


def row_major_strides(shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the strides, in elements, of an array whose last axis is contiguous."""
    strides: list[Expression] = []
    step = _ONE
    for extent in reversed(shape):
        strides.append(_expression(step))
        step = _times(_value(extent), step)
    return tuple(reversed(strides))


def element_count(shape: tuple[Expression, ...]) -> Expression:
    """Return the number of elements of an array."""
    return _expression(reduce(_times, [_value(extent) for extent in shape], _ONE))


def _times(a: _Value, b: _Value) -> _Value:
    if isinstance(a, LinearForm) and a.is_constant:
        a, b = b, a
    if not (isinstance(b, LinearForm) and b.is_constant):
        return ex.product_of(_expression(a), _expression(b))
    if isinstance(a, LinearForm) or b.constant == 0:
        return (a if isinstance(a, LinearForm) else LinearForm()) * b.constant
    return a if b.constant == 1 else ex.product_of(a, b.constant)


_DIVIDED = frozenset((ex.FloorDiv, ex.Remainder))


def _plus(a: _Value, b: _Value) -> _Value:
    if isinstance(a, LinearForm) and isinstance(b, LinearForm):
        return a + b
    parts = tuple(map(_expression, (a, b)))
    if not (isinstance(b, LinearForm) or _DIVIDED.isdisjoint(walk.classes(b))):
        whole = recombined(ex.sum_of(*parts))
        if not isinstance(whole, ex.Sum) or whole.children != parts:
            return _value(whole)
    # Integers: the order of additions is free.
    flat = [p for t in parts for p in (t.children if isinstance(t, ex.Sum) else (t,))]
    kept = [t for t in flat if t != 0]
    return kept[0] if len(kept) == 1 else ex.sum_of(*kept)
