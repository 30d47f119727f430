"""Rewrites the reductions in an expression, with the conditions under which they are reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

Place: TypeAlias = tuple[ex.Reduction, tuple[Expression, ...]]  # and the conditions it stands under


def under_conditions(
    node: Expression,
    change: Callable[[Place, int], Expression],
    conditions: tuple[Expression, ...] = (),
) -> Expression:
    """Return an expression with each outermost reduction changed.

    A reduction is computed under the conditions of each ``if(c, a, b)`` that it stands in, of
    those that have no reduction in them.

    Parameters:
        node: the expression.
        change: what becomes of a result of a reduction, by its position.
        conditions: those that the expression stands under.
    """
    if isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Reduction):
        return change((node.aggregate, conditions), node.position)
    if isinstance(node, ex.Reduction):
        return change((node, conditions), 0)
    if isinstance(node, ex.If) and not walk.reductions(node.condition):
        then = under_conditions(node.then, change, (*conditions, node.condition))
        otherwise = (*conditions, ex.LogicalNot(node.condition))
        return ex.If(node.condition, then, under_conditions(node.else_, change, otherwise))
    parts = tuple([under_conditions(p, change, conditions) for p in walk.parts(node)])
    return walk.rebuild(node, parts)


def results_used(nodes: Iterable[Expression]) -> dict[Place, list[int]]:
    """Return the positions of those results of outermost reductions that expressions use."""
    found: dict[Place, set[int]] = {}

    def note(place: Place, position: int) -> Expression:
        found.setdefault(place, set()).add(position)
        return position

    for node in nodes:
        under_conditions(node, note)
    return {place: sorted(positions) for place, positions in found.items()}
