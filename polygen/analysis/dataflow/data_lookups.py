"""Reads of elements that data chooses, such as ``table[kind[i]]``, for whatever it may choose.

Two kernels read the same if they do for each value that the data may have.  So a number that is not
known, one for each element of data that a subscript mentions, takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Context, Frame, Names
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_DATA = "data"


def for_all_values(
    nodes: tuple[Expression, Expression],
    at: Context,
    names: Names,
    difference: Callable[[Expression, Expression, Context], object],
) -> tuple[Expression, Expression, Context] | None:
    """Return two reads with unknown numbers in place of data, and where they are compared then.

    None if no data is in their subscripts, or if other things are in the way.

    Parameters:
        nodes: an element that the old frame reads, and one that the new frame reads.
        at: where they are compared.
        names: makes names for the numbers.
        difference: returns None for two elements of data that are the same.
    """
    was, now = _data(nodes[0], at.old), _data(nodes[1], at.new)
    if at.old.numbers or at.new.numbers or not (was or now):
        return None
    olds = {node: ex.Variable(names.fresh((_DATA,))[_DATA]) for node in was}
    news: dict[Expression, ex.Variable] = {}
    for node in now:
        other = next((o for o in was if difference(o, node, at) is None), None)
        news[node] = ex.Variable(names.fresh((_DATA,))[_DATA]) if other is None else olds[other]
    frames = [
        replace(frame, numbers=frozenset([v.name for v in values.values()]))
        for frame, values in ((at.old, olds), (at.new, news))
    ]
    old, new = (_with_numbers(n, values) for n, values in zip(nodes, (olds, news), strict=True))
    inside = _inside(old, frames[0])
    return None if inside is None else (old, new, Context(at.points.intersect(inside), *frames))


def _data(node: Expression, frame: Frame) -> tuple[Expression, ...]:
    """Return the elements of data that the subscripts of a read mention."""
    index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
    found: dict[Expression, None] = {}

    def look(part: Expression) -> None:
        of_data = isinstance(part, ex.Subscript | ex.Variable)
        if of_data and ex.name_of(part) not in frame.integers:
            found[part] = None
        elif isinstance(part, ex.ExpressionNode):
            for each in walk.parts(part):
                look(each)

    for subscript in index:
        look(subscript)
    return tuple(found)


def _with_numbers(node: Expression, values: Mapping[Expression, ex.Variable]) -> Expression:
    def replaced(part: Expression) -> Expression:
        if isinstance(part, ex.ExpressionNode) and part in values:
            return values[part]
        if not isinstance(part, ex.ExpressionNode):
            return part
        return walk.rebuild(part, tuple([replaced(each) for each in walk.parts(part)]))

    if not isinstance(node, ex.Subscript):
        return node
    index: Sequence[Expression] = [replaced(i) for i in ex.index_tuple(node)]
    return ex.element(ex.Variable(ex.name_of(node)), tuple(index))


def _inside(node: Expression, frame: Frame) -> isl.Set | None:
    """Return where an element is inside of its array, as what kernels read is."""
    if not isinstance(node, ex.Subscript):
        return None
    shape = frame.kernel.array(ex.name_of(node)).shape or ()
    found: list[isl.Set] = []
    for subscript, extent in zip(ex.index_tuple(node), shape, strict=True):
        for condition in (
            ex.Comparison(subscript, ">=", 0),
            ex.Comparison(subscript, "<", extent),
        ):
            holds = frame.holds(condition)
            if holds is None:
                return None
            found.append(holds)
    return reduce(isl.Set.intersect, found)
