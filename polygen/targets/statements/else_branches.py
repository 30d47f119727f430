"""Two conditions beside each other, one of which holds where the other does not: ``else``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.lower.conditions import conjunction
from polygen.lower.program import Assign, Barrier, Block, Call, Declare, If, Loop, Node, Verbatim

# A statement, and what is executed where its condition does not hold.
WithOther: TypeAlias = tuple[Node, Block]


def with_others(
    nodes: Block,
    is_index: Callable[[str], bool],
    overlapping: Callable[[str], frozenset[str]],
) -> Iterator[WithOther]:
    """Yield statements, each with what is executed otherwise: the body of the one that follows.

    Parameters:
        nodes: the statements.
        is_index: tells whether a name is a loop counter's or a size's.
        overlapping: the arrays that an array may overlap.
    """
    at = 0
    while at < len(nodes):
        node, following = nodes[at], nodes[at + 1] if at + 1 < len(nodes) else None
        if (
            isinstance(node, If)
            and isinstance(following, If)
            and (other := _other(node, following, is_index))
            and _may_be_other(node, following, overlapping)
        ):
            yield node, other
            at += 2
        else:
            yield node, ()
            at += 1


def _other(first: If, second: If, is_index: Callable[[str], bool]) -> Block:
    """Return what is executed where a condition did not hold: the second body, if only there.

    Nothing if the second one may be executed elsewhere, too.
    """
    asked = second.condition
    if _are_opposite(first.condition, asked, is_index):
        return second.body
    if not isinstance(asked, ex.LogicalAnd):
        return ()
    for at, part in enumerate(asked.children):
        if _are_opposite(first.condition, part, is_index):
            rest = [*asked.children[:at], *asked.children[at + 1 :]]
            return (If(conjunction(rest), second.body),)
    return ()


def _may_be_other(first: If, second: If, overlapping: Callable[[str], frozenset[str]]) -> bool:
    """Tell whether a condition is the same after what it guards, and nothing waits in the two."""
    asked = walk.free_variables(first.condition)
    asked = asked.union(*map(overlapping, asked))
    written, waits = _done_in(first.body)
    return not waits and asked.isdisjoint(written) and not _done_in(second.body)[1]


def _are_opposite(first: Expression, second: Expression, is_index: Callable[[str], bool]) -> bool:
    if isinstance(second, ex.LogicalNot) and identical(second.child, first):
        return True
    if isinstance(first, ex.LogicalNot) and identical(first.child, second):
        return True
    here, there = (_at_least_zero(condition, is_index) for condition in (first, second))
    return here is not None and there is not None and here == -there - 1


def _at_least_zero(condition: Expression, is_index: Callable[[str], bool]) -> LinearForm | None:
    """Return what is not negative where a comparison of counters holds; None if it is another."""
    if not isinstance(condition, ex.Comparison) or condition.operator not in _ORDERS:
        return None
    left, right = linear_form(condition.left), linear_form(condition.right)
    names = walk.free_variables(condition)
    if left is None or right is None or not all(map(is_index, names)):
        return None
    return _ORDERS[condition.operator](left, right)


_ORDERS: dict[str, Callable[[LinearForm, LinearForm], LinearForm]] = {
    "<": lambda left, right: right - left - 1,
    "<=": lambda left, right: right - left,
    ">": lambda left, right: left - right - 1,
    ">=": lambda left, right: left - right,
}


def _done_in(block: Iterable[Node]) -> tuple[set[str], bool]:
    """Return what is written in a block, and whether work items wait for each other in it."""
    written, waits = set[str](), False
    for node in block:
        if isinstance(node, Assign):
            written.update(ex.name_of(target) for target, _ in node.pairs)
        elif isinstance(node, Declare):
            written.add(node.name)
        elif isinstance(node, Call | Verbatim):
            written.update(node.writes)
        elif isinstance(node, Loop | If):
            inner, inner_waits = _done_in(node.body)
            written |= inner
            waits = waits or inner_waits
        elif isinstance(node, Barrier):
            waits = True
    return written, waits
