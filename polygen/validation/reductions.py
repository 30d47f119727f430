"""What reductions mean, spelled out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression


def _largest(dtype: DType) -> Any:
    return {"f": float("inf"), "b": 1}.get(dtype.kind) or int(np.iinfo(dtype).max)


def _smallest(dtype: DType) -> Any:
    if dtype.kind in "fb":
        return float("-inf") if dtype.kind == "f" else 0
    return int(np.iinfo(dtype).min)


_IDENTITIES: Mapping[str, Callable[[DType], Any]] = {
    "sum": lambda _: 0,
    "product": lambda _: 1,
    "min": _largest,
    "max": _smallest,
}
_COMBINED: Mapping[str, Callable[[Expression, Expression], Expression]] = {
    "sum": ex.sum_of,
    "product": ex.product_of,
    "min": lambda a, b: ex.Min((a, b)),
    "max": lambda a, b: ex.Max((a, b)),
}


def identity(operation: str, dtype: DType) -> Expression:
    """Return what changes no value of a type that an operation combines it with."""
    found: Expression = _IDENTITIES[operation](dtype)
    return found


def combined(operation: str, first: Expression, second: Expression) -> Expression:
    """Return what an operation makes of two values."""
    return _COMBINED[operation](first, second)


def under_conditions(
    node: Expression,
    change: Callable[[ex.Reduction, tuple[Expression, ...]], Expression],
    conditions: tuple[Expression, ...] = (),
) -> Expression:
    """Return an expression with each outermost reduction changed.

    A reduction is computed under the conditions of each ``if(c, a, b)`` that it stands in, of
    those that have no reduction in them.

    Parameters:
        node: the expression.
        change: what becomes of a reduction that stands under some conditions.
        conditions: those that the expression stands under.
    """
    if isinstance(node, ex.Reduction):
        return change(node, conditions)
    if isinstance(node, ex.If) and not walk.reductions(node.condition):
        then = under_conditions(node.then, change, (*conditions, node.condition))
        otherwise = (*conditions, ex.LogicalNot(node.condition))
        return ex.If(node.condition, then, under_conditions(node.else_, change, otherwise))
    parts = tuple([under_conditions(p, change, conditions) for p in walk.parts(node)])
    return walk.rebuild(node, parts)
