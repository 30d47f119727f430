"""Sums that a guarded statement alone uses: behind the guard.

Of nests that share a launch, one may lack an axis of another.  One work item along that axis stores
what it computes, and the others need not compute it::

    float acc = 0;                                if (j == 0) {
    for (int k = 0; k < n; ++k)                       float acc = 0;
        acc += a[n*i + k];              ->            for (int k = 0; k < n; ++k)
    if (j == 0)                                           acc += a[n*i + k];
        b[i] = acc;                                   b[i] = acc;
                                                  }

This is done behind validation: instructions are executed less often than the kernel says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.lower.declare import expressions, mentioned
from polygen.lower.neighbours import nodes_in
from polygen.lower.program import (
    Assign,
    Block,
    Declare,
    HostLoop,
    HostNode,
    If,
    Loop,
    LoopProgram,
    Node,
)


def with_guarded_values(program: LoopProgram) -> LoopProgram:
    """Return a validated program that computes behind guards what is used behind them alone.

    Parameters:
        program: the program.
    """
    host = tuple([_host(node) for node in program.host])
    changed = any(a is not b for a, b in zip(host, program.host, strict=True))
    return replace(program, host=host) if changed else program


def _host(node: HostNode) -> HostNode:
    if isinstance(node, HostLoop):
        return replace(node, body=tuple([_host(inner) for inner in node.body]))
    body = _block(node.body)
    return node if body is node.body else replace(node, body=body)


def _block(block: Block) -> Block:
    """Return a block, and those in it, with values behind the guards of their users."""
    nodes = [_inside(node) for node in block]
    place = 0
    while place < len(nodes):
        node = nodes[place]
        if isinstance(node, If):
            moved = _moved(nodes, place)
            body = (*(nodes[at] for at in moved), *node.body)
            nodes[place] = replace(node, body=body) if moved else node
            for at in reversed(moved):
                del nodes[at]
            place -= len(moved)
        place += 1
    unchanged = len(nodes) == len(block) and all(a is b for a, b in zip(nodes, block, strict=True))
    return block if unchanged else tuple(nodes)


def _inside(node: Node) -> Node:
    if not isinstance(node, Loop | If):
        return node
    body = _block(node.body)
    return node if body is node.body else replace(node, body=body)


def _moved(nodes: Sequence[Node], place: int) -> list[int]:
    """Return the places of the statements that go behind a guard: none if there is no loop."""
    guard = nodes[place]
    assert isinstance(guard, If)
    declared = {n.name for n in nodes[:place] if isinstance(n, Declare) and _is_own(n)}
    # What is used by others than those that are moved, and what these write.
    used = set(mentioned(nodes[place + 1 :]) | walk.free_variables(guard.condition))
    written: set[str] = set()
    found: list[int] = []
    for at in range(place - 1, -1, -1):
        node = nodes[at]
        changes = _changes(node)
        if changes is None:
            break
        own = {inner.name for inner in nodes_in([node]) if isinstance(inner, Declare)}
        is_private = changes <= declared | own and not changes & used
        if is_private and _is_pure(node) and written.isdisjoint(mentioned([node])):
            found.insert(0, at)
        else:
            used |= mentioned([node])
            written |= changes
    moved = [nodes[at] for at in found]
    is_work = any(isinstance(node, Loop) for node in moved)
    return found if is_work and not _asks(moved, guard.condition) else []


def _asks(nodes: Sequence[Node], condition: Expression) -> bool:
    """Tell whether values depend on the condition already: loops were padded on purpose."""
    parts = set(walk.conjuncts(condition))
    return any(
        isinstance(part, ex.If) and not parts.isdisjoint(walk.conjuncts(part.condition))
        for node in nodes_in(nodes)
        for expression in expressions(node)
        for part in walk.subexpressions(expression)
    )


def _changes(node: Node) -> set[str] | None:
    """Return what a statement declares or writes; None of one that nothing may be moved across."""
    found: set[str] = set()
    for inner in nodes_in([node]):
        if isinstance(inner, Declare):
            found.add(inner.name)
        elif isinstance(inner, Assign):
            found.update(ex.name_of(target) for target, _ in inner.pairs)
        elif not isinstance(inner, Loop | If):
            return None
    return found


def _is_pure(node: Node) -> bool:
    """Tell whether a statement computes values of one work item, and nothing else."""
    return all(_is_own(inner) for inner in nodes_in([node]))


def _is_own(node: Node) -> bool:
    if isinstance(node, Declare):
        return node.address_space is AddressSpace.PRIVATE and not node.in_registers
    if isinstance(node, Assign):
        return node.atomicity is None and not node.asynchronous
    return isinstance(node, If) or (isinstance(node, Loop) and not node.parallel)
