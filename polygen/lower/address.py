"""Subscripts become offsets: ``a[i, j]`` becomes element ``i*m + j``."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.affine import linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, GlobalArg
from polygen.ir.expression import Expression


def linearize(node: Expression, arrays: Mapping[str, Array]) -> Expression:
    """Return `node` with every subscript a single offset, in elements, and simplified.

    An array argument without axes is written ``a[0]``.
    """
    if isinstance(node, ex.Subscript):
        name = ex.name_of(node)
        index = tuple(simplify(linearize(e, arrays)) for e in ex.index_tuple(node))
        return ex.Subscript(node.aggregate, offset(index, arrays[name]))
    if isinstance(node, ex.Variable):
        array = arrays.get(node.name)
        if isinstance(array, GlobalArg) and array.shape == ():
            return ex.Subscript(node, 0)
        return node
    return walk.rebuild(node, tuple([linearize(p, arrays) for p in walk.parts(node)]))


def simplify(node: Expression) -> Expression:
    """Return an integer expression in its normal form where it is affine, else as it is."""
    if isinstance(node, int | ex.Variable):
        return node
    form = linear_form(node)
    return node if form is None else form.expression()


def offset(index: tuple[Expression, ...], array: Array) -> Expression:
    """Return the offset of an element, in elements.

    Without declared strides an array is row-major, and the offset is nested as Horner's scheme
    is: ``(i*m + j)*k + l``.
    """
    strides = array.strides if isinstance(array, GlobalArg) else None
    if strides is not None:
        return simplify(_sum(tuple(_times(i, s) for i, s in zip(index, strides, strict=True))))
    result: Expression = index[0]
    for extent, position in zip((array.shape or ())[1:], index[1:], strict=True):
        result = _sum((_times(result, extent), position))
    return simplify(result)


def row_major_strides(shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the strides, in elements, of an array whose last axis is contiguous."""
    strides: list[Expression] = []
    step: Expression = 1
    for extent in reversed(shape):
        strides.append(step)
        step = simplify(_times(extent, step))
    return tuple(reversed(strides))


def element_count(shape: tuple[Expression, ...]) -> Expression:
    """Return the number of elements of an array."""
    count: Expression = 1
    for extent in shape:
        count = simplify(_times(count, extent))
    return count


def _times(a: Expression, b: Expression) -> Expression:
    if a == 0 or b == 0:
        return 0
    if b == 1:
        return a
    return b if a == 1 else ex.product_of(a, b)


def _sum(terms: tuple[Expression, ...]) -> Expression:
    flat = (p for t in terms for p in (t.children if isinstance(t, ex.Sum) else (t,)))
    kept = tuple(t for t in flat if t != 0)  # integers: the order of additions is free
    if not kept:
        return 0
    return kept[0] if len(kept) == 1 else ex.sum_of(*kept)
