"""Subscripts become offsets: ``a[i, j]`` becomes element ``i*m + j``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from polygen.analysis.affine import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, GlobalArg
from polygen.ir.expression import Expression

_Value: TypeAlias = LinearForm | Expression  # a form wherever it is affine
_ONE: _Value = LinearForm(1)


def linearize(node: Expression, arrays: Mapping[str, Array]) -> Expression:
    """Return `node` with every subscript a single offset, in elements, and simplified.

    An array argument without axes is written ``a[0]``.
    """
    if isinstance(node, ex.Subscript):
        index = [_subscript(e, arrays) for e in ex.index_tuple(node)]
        return ex.Subscript(node.aggregate, _offset(index, arrays[ex.name_of(node)]))
    if isinstance(node, ex.Variable):
        array = arrays.get(node.name)
        if isinstance(array, GlobalArg) and array.shape == ():
            return ex.Subscript(node, 0)
        return node
    parts = walk.parts(node)
    return walk.rebuild(node, tuple([linearize(p, arrays) for p in parts])) if parts else node


def _subscript(node: Expression, arrays: Mapping[str, Array]) -> _Value:
    form = linear_form(node)
    if form is None or not arrays.keys().isdisjoint(form.names()):
        return linearize(node, arrays)
    return form


def simplify(node: Expression) -> Expression:
    """Return an integer expression in its normal form where it is affine, else as it is."""
    return node if isinstance(node, int) else _expression(_value(node))


def _value(node: Expression) -> _Value:
    return linear_form(node) or node


def _expression(value: _Value) -> Expression:
    return value.expression() if isinstance(value, LinearForm) else value


def _offset(index: Sequence[_Value], array: Array) -> Expression:
    """Return the offset of an element, in elements.

    Without declared strides an array is row-major, and the offset is nested as Horner's scheme
    is: ``(i*m + j)*k + l``.
    """
    strides = array.strides if isinstance(array, GlobalArg) else None
    if strides is not None:
        terms = [_times(i, _value(s)) for i, s in zip(index, strides, strict=True)]
        return _expression(reduce(_plus, terms))
    total = index[0]
    for extent, position in zip((array.shape or ())[1:], index[1:], strict=True):
        total = _plus(_times(total, _value(extent)), position)
    return _expression(total)


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


def _plus(a: _Value, b: _Value) -> _Value:
    if isinstance(a, LinearForm) and isinstance(b, LinearForm):
        return a + b
    # Integers: the order of additions is free.
    flat = [
        p for t in map(_expression, (a, b)) for p in (t.children if isinstance(t, ex.Sum) else (t,))
    ]
    kept = [t for t in flat if t != 0]
    return kept[0] if len(kept) == 1 else ex.sum_of(*kept)
