"""Finds loops whose iterations, executed at once, access neighbouring elements."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.lower.declare import expressions
from polygen.lower.program import Declare, If, Loop, Node
from polygen.lower.vectorize import is_next_to_each_other


def nodes_in(block: Iterable[Node]) -> Iterator[Node]:
    """Yield all statements, those inside of others, too."""
    for node in block:
        yield node
        if isinstance(node, Loop | If):
            yield from nodes_in(node.body)


def subscripts(nodes: Iterable[Node]) -> Iterator[ex.Subscript]:
    """Yield the elements of arrays that statements mention, those of their bodies left out."""
    for node in nodes:
        for expression in expressions(node):
            for part in walk.subexpressions(expression):
                if isinstance(part, ex.Subscript):
                    yield part


def are_neighbours(nodes: Iterable[Node], iname: str, others: Container[str] = NO_NAMES) -> bool:
    """Tell whether all elements are the same in all iterations, or next to each other.

    Parameters:
        nodes: the statements in a loop, those inside of others, too.
        iname: the loop's.
        others: arrays that do not count.
    """
    nodes = list(nodes)
    scalars = [n for n in nodes if isinstance(n, Declare) and n.extent is None]
    counters = [iname, *(n.name for n in scalars if _counts(n.initial, iname))]
    varying = frozenset((iname, *(n.name for n in scalars)))
    for element in subscripts(nodes):
        offset, *chosen = ex.index_tuple(element)
        if ex.name_of(element) in others or varying.isdisjoint(walk.free_variables(offset)):
            continue
        terms = offset.children if isinstance(offset, ex.Sum) else (offset,)
        differing = [t for t in terms if not varying.isdisjoint(walk.free_variables(t))]
        if (
            chosen
            or len(differing) > 1
            or all(t != differing[0] for t in map(ex.Variable, counters))
        ):
            return False
    return True


def _counts(value: Expression | None, iname: str) -> bool:
    """Tell whether a value is one more from iteration to iteration."""
    return value is not None and is_next_to_each_other(value, iname)
