"""Conditions in loops that are asked once, around the loop, or become its bounds.

Lowering leaves none of them in loops of its own.  But where work items are iterations of loops,
each of them asks what a work item would, and compilers make no good vectors of that::

    for (int i = 0; i < 64; ++i) {
        if (64 * i_outer + i < n)          for (int i = 0; i < min(64, n - 64 * i_outer); ++i)
            b[64 * i_outer + i] = 1;           b[64 * i_outer + i] = 1;
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.program import Block, If, Loop
from polygen.targets.statements.aliases import joined, merged
from polygen.targets.statements.expression_printer import ExpressionPrinter


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
    if loop.runs is not None:
        return (), loop
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
    ended = loop
    own: list[Expression] = []
    for condition in asked:
        if condition in shared:
            continue
        found = _with_bound(ended, condition, names)
        ended = found or ended
        if found is None:
            own.append(condition)
    if len(own) == len(asked):
        return (), loop
    return shared, replace(ended, body=(If(_all_of(own), body),) if own else body)


def _all_of(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))


def _is_shared(condition: Expression, iname: str, names: ExpressionPrinter) -> bool:
    """Tell whether a condition is the same in all iterations, and needs nothing to be computed."""
    mentioned = walk.free_variables(condition)
    return iname not in mentioned and all(map(names.is_index, mentioned))


def _with_bound(loop: Loop, condition: Expression, names: ExpressionPrinter) -> Loop | None:
    """Return a loop of which a condition in it is a bound; None if it is more than that."""
    if not isinstance(condition, ex.Comparison):
        return None
    if (upper := _constant_bound(condition, loop)) is not None:
        return replace(loop, upper=upper)
    # Loops over work items have the same bounds in all of their iterations.
    if not loop.unordered or loop.step != 1:
        return None
    mentioned = walk.free_variables(condition)
    left, right = linear_form(condition.left), linear_form(condition.right)
    if left is None or right is None or not all(map(names.is_index, mentioned)):
        return None
    if condition.operator not in _LESS:
        return None
    sides = (left, right) if condition.operator in ("<", "<=") else (right, left)
    room = sides[1] - sides[0] - (len(condition.operator) == 1)  # not negative if it holds
    factor = room.terms.get(loop.iname, 0)
    rest = room - LinearForm.of_name(loop.iname) * factor
    if abs(factor) != 1 or loop.iname in rest.names():
        return None
    if factor > 0:
        return replace(loop, lower=_one_of(ex.Max, loop.lower, (rest * -1).expression()))
    return replace(loop, upper=_one_of(ex.Min, loop.upper, (rest + 1).expression()))


_LESS = ("<", "<=", ">", ">=")


def _one_of(
    kind: type[ex.Min] | type[ex.Max], first: Expression, second: Expression
) -> ex.Min | ex.Max:
    before = first.children if isinstance(first, kind) else (first,)
    return kind((*before, second))


def _constant_bound(condition: ex.Comparison, loop: Loop) -> int | None:
    """Return where a loop ends in which a condition is only a constant bound."""
    if condition.left != ex.Variable(loop.iname):
        return None
    last, upper = condition.right, loop.upper
    if not isinstance(last, int) or not isinstance(upper, int):
        return None
    if condition.operator in ("<", "<="):
        return min(upper, last + (condition.operator == "<="))
    return min(upper, last + 1) if condition.operator == "==" and last == loop.lower else None
