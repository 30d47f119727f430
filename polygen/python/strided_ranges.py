"""Ranges and slices whose step is known as the call runs: start + k*step, for k from 0."""

from __future__ import annotations

from collections.abc import Callable

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.trace import Trace
from polygen.python.values import INT64, Index, Number, Value, index_tree


def strided_range(
    trace: Trace, start: Affine, stop: Affine, step: Affine
) -> tuple[Affine, Affine, int, Callable[[Affine], Value]]:
    """Return the bounds of a loop, its step, and the value for each iteration.

    Parameters:
        trace: what is being traced.
        start: the first value.
        stop: the end, which is left out.
        step: by how much values grow, or shrink; Python has an error if it is 0.
    """
    by = step.tree("int64")
    trace.fault(ex.Comparison(by, "==", 0), ValueError, "range() arg 3 must not be zero")
    count = count_either_way(trace, start, stop, step)

    def value(index: Affine) -> Value:
        return Number(INT64, weak=True, tree=place_of(index, start, step))

    return number(0), count, 1, value


def count_either_way(trace: Trace, start: Affine, stop: Affine, step: Affine) -> Affine:
    """Return how many values there are from one to another, with a step that may be negative."""
    (low, high, by) = (form.tree("int64") for form in (start, stop, step))
    up = _count(ex.sum_of(high, ex.negated(low)), by)
    down = _count(ex.sum_of(low, ex.negated(high)), ex.negated(by))
    return trace.integer(ex.If(ex.Comparison(by, ">", 0), up, down), number(0), None, "count")


def strided_count(trace: Trace, distance: Affine, step: Affine) -> Affine:
    """Return how many elements a slice with a positive step has."""
    tree = _count(distance.tree("int64"), step.tree("int64"))
    return trace.integer(tree, number(0), None, "count")


def place_of(index: Index, start: Affine, step: Affine) -> Expression:
    """Return ``start + index*step``."""
    return ex.sum_of(start.tree(), ex.product_of(index_tree(index), step.tree()))


def _count(distance: Expression, step: Expression) -> Expression:
    """Return how many steps there are; 0 for one that is not positive."""
    positive = ex.Max((1, step))
    return ex.Max((0, ex.floor_quotient(ex.sum_of(distance, positive, -1), positive)))
