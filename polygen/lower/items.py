"""Items: what parts of the loop tree become, each with the conditions that it is executed under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.ir.changed import changed
from polygen.ir.expression import Expression
from polygen.lower.conditions import Condition, conjunction
from polygen.lower.program import Barrier, Block, If, Node, Wait
from polygen.lower.separate import EVERYTHING, Part


@dataclass(frozen=True)
class Item:
    """Nodes with one set of conditions.

    Attributes:
        writes: the variables that the nodes assign to.
        synchronizes: whether there is a barrier inside: only uniform conditions may hold it.
    """

    nodes: Block
    conditions: tuple[Condition, ...] = ()
    writes: frozenset[str] = frozenset()
    synchronizes: bool = False


@dataclass(frozen=True)
class Place:
    """The place of an item in the tree.

    Attributes:
        loops: the inames of the loops around it.
        known: what holds there, a flat set.
        values: inames that stand for an expression there: those of unrolled loops.
        part: the instances that are written there: all, unless code is separated.
        lane: an iname all iterations of which are executed at once.
    """

    loops: frozenset[str]
    known: isl.Set
    values: Mapping[str, Expression]
    part: Part = EVERYTHING
    lane: str | None = None


def wrapped(items: Sequence[Item]) -> Block:
    """Return the nodes of the items inside their conditions, neighbours sharing them."""
    nodes: list[Node] = []
    at = 0
    while at < len(items):
        run, common = _run(items, at)
        at += len(run)
        shared = tuple(c for c in run[0].conditions if c in common)
        if shared:
            body = wrapped([without(item, shared) for item in run])
            if body and not any(c.expression is False for c in shared):
                nodes.append(If(conjunction([c.expression for c in shared]), body))
        else:
            nodes += run[0].nodes
    return tuple(nodes)


def _run(items: Sequence[Item], start: int) -> tuple[Sequence[Item], set[Condition]]:
    """Return the longest run of items from `start` on with conditions in common, and these."""
    common = set(items[start].conditions)
    written: frozenset[str] = items[start].writes
    stop = start + 1
    while stop < len(items) and common:
        both = {c for c in common if c in items[stop].conditions}
        both = {c for c in both if written.isdisjoint(c.names)}
        both = _in_order(both, (*items[start : stop + 1],))
        if not both:
            break
        common = both
        written |= items[stop].writes
        stop += 1
    return items[start:stop], common


def _in_order(common: set[Condition], items: Sequence[Item]) -> set[Condition]:
    """Return those of the common conditions that come after nothing which is not common.

    Before what reads arrays or computed variables, all of its own has to be asked.
    """
    if not any(c.after for c in common):
        return common
    late = {
        c
        for item in items
        for c in item.conditions
        if c in common and any(a in item.conditions and a not in common for a in c.after)
    }
    return _in_order(common - late, items) if late else common


def without(item: Item, conditions: tuple[Condition, ...]) -> Item:
    """Return an item without conditions that are asked around it."""
    if not conditions:
        return item
    return changed(item, conditions=tuple(c for c in item.conditions if c not in conditions))


def is_barrier(item: Item) -> bool:
    """Tell whether an item is a barrier, or waits for copies, and nothing else."""
    return len(item.nodes) == 1 and isinstance(item.nodes[0], Barrier | Wait)
