"""Where the reductions in an expression stand."""

from __future__ import annotations

from collections.abc import Callable

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


def under_conditions(
    node: Expression,
    change: Callable[[ex.Reduction, tuple[Expression, ...]], tuple[Expression, ...]],
    conditions: tuple[Expression, ...] = (),
) -> Expression:
    """Return an expression with each outermost reduction changed.

    A reduction is computed under the conditions of each ``if(c, a, b)`` that it stands in, of
    those that have no reduction in them.

    Parameters:
        node: the expression.
        change: what becomes of each result of a reduction that stands under some conditions.
        conditions: those that the expression stands under.
    """
    if isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Reduction):
        return change(node.aggregate, conditions)[node.position]
    if isinstance(node, ex.Reduction):
        return change(node, conditions)[0]
    if isinstance(node, ex.If) and not walk.reductions(node.condition):
        then = under_conditions(node.then, change, (*conditions, node.condition))
        otherwise = (*conditions, ex.LogicalNot(node.condition))
        return ex.If(node.condition, then, under_conditions(node.else_, change, otherwise))
    parts = tuple([under_conditions(p, change, conditions) for p in walk.parts(node)])
    return walk.rebuild(node, parts)
