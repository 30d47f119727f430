"""Loops whose iterations may be executed at once, as vectors: what a compiler cannot see itself.

It is told so in loops that run on threads, which compilers make functions of: in these they do not
know any more that arrays do not overlap.  Iterations over groups and work items are in no order.
Those of another loop are where each has its own elements of all arrays that are written.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import is_exact
from polygen.lower.declare import expressions
from polygen.lower.neighbours import are_neighbours, nodes_in, subscripts
from polygen.lower.program import Assign, Declare, If, Loop, Node
from polygen.targets.expressions.logic_rules import gathering
from polygen.targets.languages.target import FLOAT32, FLOAT64
from polygen.targets.statements.expression_printer import ExpressionPrinter

_FEWEST = 16  # iterations of a loop; shorter ones are unrolled
_FEWEST_ITEMS = 4
_EXACT = ("max", "min")  # the order makes no difference

# What is accumulated in variables: the operation, and the name.
Accumulated: TypeAlias = tuple[tuple[str, str], ...]


def accumulated_at_once(
    loop: Loop, names: ExpressionPrinter, scalars: Container[str], *, reassociate: bool
) -> Accumulated | None:
    """Return what iterations that are executed at once accumulate; None if they may not be.

    Parameters:
        loop: the loop.
        names: tells what is declared how.
        scalars: the private variables that are declared around it.
        reassociate: whether floating-point sums may be added up in another order.
    """
    nodes = list(nodes_in(loop.body))
    if loop.unroll or loop.at_once or is_short(loop) or not all(map(_is_plain, nodes)):
        return None
    inner = [node for node in nodes if isinstance(node, Loop)]
    if any(node.unordered or node.at_once for node in inner) or (inner and not loop.unordered):
        return None
    if sum(not is_short(node) for node in inner) > 1:
        return None  # of a loop around several, compilers make no vectors
    own = _declared(nodes) | {loop.iname}
    if not all(own.isdisjoint(walk.free_variables(e)) for n in inner for e in expressions(n)):
        return None  # iterations differ in those of loops inside
    if not are_neighbours(nodes, loop.iname):
        return None
    if not loop.unordered and not _are_apart(nodes, loop.iname, names):
        return None
    found = _accumulated(nodes, names, reassociate=reassociate)
    if found is None or (inner and found):
        return None
    return found if all(name in scalars for _, name in found) else None


def is_short(loop: Loop) -> bool:
    """Tell whether a loop has few iterations, never more than a constant number."""
    starts = loop.lower.children if isinstance(loop.lower, ex.Max) else (loop.lower,)
    ends = loop.upper.children if isinstance(loop.upper, ex.Min) else (loop.upper,)
    first = max((s for s in starts if isinstance(s, int)), default=None)
    last = min((e for e in ends if isinstance(e, int)), default=None)
    if first is None or last is None:
        return False
    fewest = _FEWEST_ITEMS if loop.unordered else _FEWEST
    return len(range(first, last, loop.step)) < fewest


def _is_plain(node: Node) -> bool:
    if isinstance(node, Assign):
        return node.atomicity is None and not node.others
    return isinstance(node, Declare | If | Loop)


def _are_apart(nodes: Sequence[Node], iname: str, names: ExpressionPrinter) -> bool:
    """Tell whether what an iteration writes to an array is touched by no other iteration."""
    own = _declared(nodes)
    targets = {node.target for node in nodes if isinstance(node, Assign)}
    touched = {e for e in subscripts(nodes) if ex.name_of(e) not in own}
    for element in touched & targets:
        mentioned = walk.free_variables(element) - {ex.name_of(element)}
        if iname not in mentioned or not all(map(names.is_index, mentioned)):
            return False
        same = names.overlapping(ex.name_of(element)) | {ex.name_of(element)}
        if any(ex.name_of(other) in same and other != element for other in touched):
            return False
    return True


def _declared(nodes: Sequence[Node]) -> frozenset[str]:
    return frozenset(node.name for node in nodes if isinstance(node, Declare))


def _accumulated(
    nodes: Sequence[Node], names: ExpressionPrinter, *, reassociate: bool
) -> Accumulated | None:
    """Return the variables from outside that are updated; None if anything else is done to one."""
    own = _declared(nodes)
    found: dict[str, str] = {}
    updates: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, Assign) or isinstance(node.target, ex.Subscript):
            continue
        name, operation = node.target.name, _operation(node)
        if name in own:
            continue
        dtype = names.declared_type(name)
        exact = is_exact(dtype) or (operation in _EXACT and dtype in (FLOAT32, FLOAT64))
        if not exact and not (reassociate and dtype in (FLOAT32, FLOAT64)):
            return None
        if operation is None or found.setdefault(name, operation) != operation:
            return None
        updates[name] = updates.get(name, 0) + 1
    for name, count in updates.items():
        if sum(_mentions(node, name) for node in nodes) != 2 * count:
            return None
    return tuple((operation, name) for name, operation in found.items())


def _operation(node: Assign) -> str | None:
    """Return the operation of an assignment that is an update of its target."""
    value = node.value
    for operation, kind in (("+", ex.Sum), ("*", ex.Product), ("max", ex.Max), ("min", ex.Min)):
        if isinstance(value, kind) and node.target in value.children:
            return operation
    return gathering(node.target, value)


def _mentions(node: Node, name: str) -> int:
    variable = ex.Variable(name)
    return sum(part == variable for e in expressions(node) for part in walk.subexpressions(e))
