"""The values of integer expressions at many points at once: NumPy's arrays in the place of names.

``i*j % 3 == 0`` is asked of all pairs in a few operations.  What might not fit into 64 bits is
computed with Python's integers, so that all of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from pymbolic.mapper.evaluator import evaluate

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

Columns: TypeAlias = Mapping[str, Any]  # the coordinates of points, an array for each name
_LARGEST = 2**62


def where_true(condition: Expression, columns: Columns) -> Any:
    """Return at which points a condition holds, as an array of truth values.

    Parameters:
        condition: of the names of the columns.
        columns: not empty.
    """
    largest = {name: _largest(column) for name, column in columns.items()}
    if _bound(condition, largest) > _LARGEST:
        columns = {name: column.astype(object) for name, column in columns.items()}
    return np.asarray(_value(condition, columns), dtype=bool)


def _largest(column: Any) -> int:
    return max(abs(int(column.min())), abs(int(column.max()))) if len(column) else 0


def selected(columns: Columns, which: Any) -> dict[str, Any]:
    """Return some of the points: an array of truth values, or of positions, says which."""
    return {name: column[which] for name, column in columns.items()}


# --- how large values may become


def _bound(node: Expression, largest: Mapping[str, int]) -> int:
    """Return what the absolute values of an expression, and of its parts, do not exceed."""
    if isinstance(node, ex.Variable):
        return largest[node.name]
    if isinstance(node, int):
        return abs(node)
    parts = [_bound(part, largest) for part in walk.parts(node)]
    if isinstance(node, ex.Sum):
        return sum(parts)
    if isinstance(node, ex.Product):
        return reduce(lambda a, b: a * b, [max(1, part) for part in parts])
    if type(node) in _RULES:
        return max(parts, default=0)
    return _LARGEST + 1


# --- values


def _value(node: Expression, columns: Columns) -> Any:
    if isinstance(node, ex.Variable):
        return columns[node.name]
    if isinstance(node, int):
        return np.full(_count(columns), node, _dtype(columns))
    rule = _RULES.get(type(node))
    return _one_by_one(node, columns) if rule is None else rule(node, columns)


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _dtype(columns: Columns) -> Any:
    return next(iter(columns.values())).dtype


def _one_by_one(node: Expression, columns: Columns) -> Any:
    names = sorted(columns)
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    return np.array([evaluate(node, dict(zip(names, row, strict=True))) for row in rows], object)


def _folded(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Columns], Any]:
    def rule(node: Any, columns: Columns) -> Any:
        return reduce(operation, [_value(child, columns) for child in node.children])

    return rule


def _divided(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Columns], Any]:
    def rule(node: Any, columns: Columns) -> Any:
        divisor = _value(node.denominator, columns)
        if not np.all(divisor != 0):
            raise ZeroDivisionError(f"{node}")
        return operation(_value(node.numerator, columns), divisor)

    return rule


def _comparison(node: Any, columns: Columns) -> Any:
    compare = _COMPARISONS[str(node.operator)]
    return compare(_value(node.left, columns), _value(node.right, columns))


def _joined(stops_at: bool) -> Callable[[Any, Columns], Any]:
    """Return the rule of ``and`` or ``or``: what follows is asked of the points that are left."""

    def rule(node: Any, columns: Columns) -> Any:
        found = np.full(_count(columns), not stops_at)
        left = np.arange(len(found))
        for child in node.children:
            values = np.asarray(_value(child, selected(columns, left)), dtype=bool)
            found[left[values == stops_at]] = stops_at
            left = left[values != stops_at]
        return found

    return rule


def _choice(node: Any, columns: Columns) -> Any:
    which = np.asarray(_value(node.condition, columns), dtype=bool)
    found = np.empty(len(which), _dtype(columns))
    for points, chosen in ((which, node.then), (~which, node.else_)):
        if points.any():
            found[points] = _value(chosen, selected(columns, points))
    return found


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_RULES: Mapping[type, Callable[[Any, Columns], Any]] = {
    ex.Sum: _folded(np.add),
    ex.Product: _folded(np.multiply),
    ex.Min: _folded(np.minimum),
    ex.Max: _folded(np.maximum),
    ex.FloorDiv: _divided(np.floor_divide),
    ex.Remainder: _divided(np.remainder),
    ex.Comparison: _comparison,
    ex.LogicalAnd: _joined(stops_at=False),
    ex.LogicalOr: _joined(stops_at=True),
    ex.LogicalNot: lambda node, columns: ~np.asarray(_value(node.child, columns), dtype=bool),
    ex.If: _choice,
}
