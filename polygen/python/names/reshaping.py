"""`reshape`, `ravel` and `flatten`: rows of the table of names.

Axes are merged and split in groups of as many elements: ``(n, 4, 6) -> (n, 24)`` has the groups
``n -> n`` and ``4, 6 -> 24``.  In a group of several axes, all extents but the first are taken as
they are in the call that is traced, and a guard says so: then places are affine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import array_of
from polygen.python.names.rearranging import rearranged
from polygen.python.refused import Refused, ShapeRefused
from polygen.python.values import (
    Arrayed,
    Constant,
    Index,
    Indices,
    Lazy,
    Number,
    Several,
    Value,
    View,
    constant_number,
    index_sum,
    index_times,
    index_tree,
)


@dataclass(frozen=True)
class _Group:
    """Axes of the old shape, and axes of the new one, with as many elements."""

    old: tuple[int, ...]
    new: tuple[int, ...]


def reshape(
    trace: Expressions, value: Value, shape: Value, *more: Value, order: Value | None = None
) -> Value:
    """Return ``np.reshape``: a view where NumPy has one."""
    if order is not None and order != Constant("C"):
        raise Refused("reshape in another order than that of C")
    given = _array(trace, value)
    parts: Sequence[Value] = (shape, *more)
    if isinstance(shape, Several):
        parts = shape.parts
    return reshaped(trace, given, parts)


def ravel(trace: Expressions, value: Value) -> Value:
    """Return ``np.ravel``."""
    return reshaped(trace, _array(trace, value), [constant_number(-1)])


def flatten(trace: Expressions, value: Value) -> Value:
    """Return a copy as a vector."""
    found = reshaped(trace, trace.copied(_array(trace, value)), [constant_number(-1)])
    assert not isinstance(found, Number)
    return found


def _array(trace: Expressions, value: Value) -> Arrayed:
    found = array_of(trace, value)
    if isinstance(found, Number):
        raise Refused("a scalar is given another shape", "make an array of one element of it")
    return found


def reshaped(trace: Expressions, given: Arrayed, parts: Sequence[Value]) -> Arrayed:
    """Return an array with other axes."""
    old = [extent_in_call(trace, extent) for extent in given.shape]
    new = _numbers(trace, parts, math.prod(old))
    if 0 in old:
        shape = tuple(map(number, new))
        nothing = tuple([number(0)] * len(old))
        return rearranged(given, shape, lambda _index: nothing, ("reshape", shape))
    shape, place = _Shapes(trace, given.shape, old, new).found()
    if any(len(group.old) > 1 or len(group.new) > 1 for group in _groups(old, new)):
        return _moved(trace, given, shape, place)
    return rearranged(given, shape, place, ("reshape", shape))


def _moved(
    trace: Expressions,
    given: Arrayed,
    shape: tuple[Affine, ...],
    place: Callable[[Indices], Indices],
) -> Arrayed:
    """Return axes merged or split: of an array in memory a view, if its rows follow each other."""
    if not isinstance(given, View):
        return rearranged(given, shape, place, None)
    if not given.is_whole:
        part = Lazy(given.dtype, given.shape, given.element, may_be_view=True)
        found = rearranged(part, shape, place, None)
        assert isinstance(found, Lazy)
        return replace(found, may_be_view=True)
    base = given.base
    if base.role == "input":
        base.layout_matters = True
        if not base.is_contiguous:
            return rearranged(trace.copied(given), shape, place, None)
    return rearranged(given, shape, place, ("reshape", shape))


def extent_in_call(trace: Expressions, extent: Affine) -> int:
    """Return an extent in the call that is traced."""
    values = trace.facts.values
    if any(symbol not in values for symbol in extent.symbols()):
        raise ShapeRefused("data decides the extent of an array that is given another shape")
    return extent.evaluate(values)


def _numbers(trace: Expressions, parts: Sequence[Value], total: int) -> list[int]:
    """Return the new extents in the call that is traced."""
    found = [_number(trace, part) for part in parts]
    if found.count(-1) == 1:
        rest = -math.prod(found)
        if rest == 0 or total % rest:
            raise Refused(f"{total} elements cannot be given the shape {tuple(found)}")
        found[found.index(-1)] = total // rest
    if math.prod(found) != total or min(found, default=1) < 0:
        raise Refused(f"{total} elements cannot be given the shape {tuple(found)}")
    return found


def _number(trace: Expressions, part: Value) -> int:
    if not isinstance(part, Number) or part.dtype.kind not in "iu":
        raise Refused("a shape has something that is no integer")
    if part.is_constant:
        return int(part.value)
    if part.affine is not None and part.cell is None:
        return extent_in_call(trace, part.affine)
    found = _evaluated(part.element(), trace.facts.values)
    if found is None:
        raise ShapeRefused("data decides the shape of an array")
    return found


def _evaluated(tree: Expression, values: dict[str, int]) -> int | None:
    """Return the value of an expression of sizes; None if it has something else."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, ex.Variable):
        return values.get(tree.name)
    if isinstance(tree, ex.Call) and tree.function == ex.Variable("int64"):
        # A conversion to the type of integers of Python's.
        return _evaluated(tree.parameters[0], values)
    if isinstance(tree, ex.FloorDiv):
        above, below = (_evaluated(part, values) for part in (tree.numerator, tree.denominator))
        return above // below if above is not None and below else None
    if isinstance(tree, ex.Product | ex.Sum):
        parts = [_evaluated(part, values) for part in tree.children]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return math.prod(known) if isinstance(tree, ex.Product) else sum(known)
    return None


def _groups(old: Sequence[int], new: Sequence[int]) -> list[_Group]:
    """Return the least groups of axes that have as many elements; those of one element go along."""
    found: list[_Group] = []
    mine = [at for at, extent in enumerate(old) if extent != 1]
    theirs = [at for at, extent in enumerate(new) if extent != 1]
    while mine:
        left, right = [mine.pop(0)], [theirs.pop(0)]
        while True:
            one = math.prod(old[at] for at in left)
            other = math.prod(new[at] for at in right)
            if one == other:
                break
            if one < other:
                left.append(mine.pop(0))
            else:
                right.append(theirs.pop(0))
        found.append(_Group(tuple(left), tuple(right)))
    return found


class _Shapes:
    """An old shape and a new one, in sizes and in numbers."""

    def __init__(
        self, trace: Expressions, forms: Sequence[Affine], old: Sequence[int], new: Sequence[int]
    ) -> None:
        self._trace = trace
        self._forms, self._old, self._new = forms, old, new

    def found(self) -> tuple[tuple[Affine, ...], Callable[[Indices], Indices]]:
        """Return the new shape, and the subscripts in the old one for those in the new one."""
        shape = [number(1)] * len(self._new)
        groups = _groups(self._old, self._new)
        for form, extent in zip(self._forms, self._old, strict=True):
            if extent == 1:  # no group has to have it
                self._fix(form, 1)
        for group in groups:
            self._give_extents(group, shape)

        def place(index: Indices) -> Indices:
            places: list[Index] = [number(0)] * len(self._old)
            for group in groups:
                self._give_places(group, index, places)
            return tuple(places)

        return tuple(shape), place

    def _give_extents(self, group: _Group, shape: list[Affine]) -> None:
        for at in group.old[1:]:
            self._fix(self._forms[at], self._old[at])
        inner = math.prod(self._old[at] for at in group.old[1:])
        outer = math.prod(self._new[at] for at in group.new[1:])
        first = self._forms[group.old[0]].times(inner)
        if any(factor % outer for _, factor in first.terms) or first.constant % outer:
            self._fix(self._forms[group.old[0]], self._old[group.old[0]])
            first = number(self._old[group.old[0]] * inner)
        for at in group.new[1:]:
            shape[at] = number(self._new[at])
        shape[group.new[0]] = first.floor(outer)

    def _fix(self, form: Affine, value: int) -> None:
        """Let an extent be a number in all calls of this variant."""
        self._trace.facts.equal(form, number(value))

    def _give_places(self, group: _Group, index: Indices, places: list[Index]) -> None:
        flat: Index = index[group.new[0]]
        for at in group.new[1:]:
            flat = index_sum(index_times(flat, self._new[at]), index[at])
        for at in reversed(group.old[1:]):
            above = _quotient(flat, self._old[at])
            places[at] = index_sum(flat, index_times(above, -self._old[at]))
            flat = above
        places[group.old[0]] = flat


def _quotient(index: Index, divisor: int) -> Index:
    if isinstance(index, Affine):
        return index.floor(divisor)
    return ex.floor_quotient(index_tree(index), divisor)


ROWS: dict[Any, Callable[..., Value]] = {np.reshape: reshape, np.ravel: ravel}
METHODS = {"reshape": np.reshape, "ravel": np.ravel}
OWN_METHODS: dict[str, Callable[..., Value]] = {"flatten": flatten}
