"""Conditions in loops that are the same in all iterations: asked once, around the loop.

Lowering leaves none in loops of its own.  But where work items are iterations of loops, each of
them asks what a work item would: here this moves outwards, or becomes a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.program import Block, If, Loop
from polygen.targets.aliases import joined, merged
from polygen.targets.expression import ExpressionPrinter


def outwards(loop: Loop, names: ExpressionPrinter) -> Loop | If:
    """Return a loop with all conditions around it that hold, or do not, in all iterations."""
    asked, inside = _taken_out(loop, names)
    return If(_all_of(asked), (inside,)) if asked else inside


def shown(nodes: Block, names: ExpressionPrinter) -> Block:
    """Return those of some statements that are printed; conditions that are the same as one."""
    nodes = tuple([node for node in nodes if not names.is_alias(node)])
    return joined(nodes, names.aliases, names.is_index) if names.aliases else nodes


def _taken_out(loop: Loop, names: ExpressionPrinter) -> tuple[Sequence[Expression], Loop]:
    """Return the conditions that may be asked before a loop, and the loop without them."""
    nodes = shown(loop.body, names)
    if len(nodes) != 1:
        return (), loop
    (inside,) = nodes
    asked: Sequence[Expression]
    body: Block
    if isinstance(inside, Loop):
        asked, inner = _taken_out(inside, names)
        body = (inner,)
    elif isinstance(inside, If):
        inside = merged(inside, lambda nodes: shown(nodes, names))
        same = {name: ex.Variable(other) for name, other in names.aliases.items()}
        condition = walk.substitute(inside.condition, same) if same else inside.condition
        asked = condition.children if isinstance(condition, ex.LogicalAnd) else (condition,)
        body = inside.body
    else:
        return (), loop
    shared = [c for c in asked if _is_shared(c, loop.iname, names)]
    bounds = [c for c in asked if _bound(c, loop) is not None]
    own = [c for c in asked if c not in shared and c not in bounds]
    if len(own) == len(asked):
        return (), loop
    upper = min([b for b in (_bound(c, loop) for c in bounds) if b is not None], default=loop.upper)
    return shared, replace(loop, upper=upper, body=(If(_all_of(own), body),) if own else body)


def _all_of(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))


def _is_shared(condition: Expression, iname: str, names: ExpressionPrinter) -> bool:
    """Tell whether a condition is the same in all iterations, and needs nothing to be computed."""
    mentioned = walk.free_variables(condition)
    return iname not in mentioned and all(map(names.is_index, mentioned))


def _bound(condition: Expression, loop: Loop) -> int | None:
    """Return where a loop ends in which a condition is only a bound; None if it is more."""
    if not isinstance(condition, ex.Comparison) or condition.left != ex.Variable(loop.iname):
        return None
    last, upper = condition.right, loop.upper
    if not isinstance(last, int) or not isinstance(upper, int):
        return None
    if condition.operator in ("<", "<="):
        return min(upper, last + (condition.operator == "<="))
    return min(upper, last + 1) if condition.operator == "==" and last == loop.lower else None
