"""Indices that are always the same: one variable is declared for all of them.

Inames on one axis of the hardware have the work item's index there as their value, each beginning
with its own first value.  Where these are the same, too, one name will do; then conditions may be
the same.

One will also do for a scalar and a copy of it, if nothing mentions the first any more: an
accumulator, and what is assigned the reduction's result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.lower.declare import mentioned
from polygen.lower.program import Block, Declare, If, Launch, Node


def aliases_of(launch: Launch) -> dict[str, str]:
    """Return the inames on the axes of a launch that others can stand for, and these."""
    found: dict[str, str] = {}
    for axis in launch.axes:
        names: dict[Expression, str] = {}
        for iname, first in axis.inames:
            same = names.setdefault(first, iname)
            if same != iname:
                found[iname] = same
    return found


def joined(nodes: Block, aliases: Mapping[str, str], is_fixed: Callable[[str], bool]) -> Block:
    """Return statements with conditions beside each other as one, if they are the same.

    Parameters:
        nodes: the statements.
        aliases: names that mean the same as others, and these.
        is_fixed: tells whether nothing assigns to a variable.
    """
    values = {name: ex.Variable(same) for name, same in aliases.items()}
    result: list[Node] = []
    last: Expression | None = None  # the condition of the last node, if it may be joined
    for node in nodes:
        condition = None
        if isinstance(node, If) and all(map(is_fixed, walk.free_variables(node.condition))):
            condition = walk.substitute(node.condition, values)
            before = result[-1] if result else None
            if condition == last and isinstance(before, If) and _are_apart(before, node):
                result[-1] = replace(before, body=(*before.body, *node.body))
                continue
        result.append(node)
        last = condition
    return tuple(result)


def merged(node: If, inside: Callable[[Block], Block]) -> If:
    """Return a condition that holds a condition and nothing else, with both asked at once.

    Parameters:
        node: the condition.
        inside: returns what is printed of a block.
    """
    asked = [node.condition]
    body = inside(node.body)
    while len(body) == 1 and isinstance(body[0], If):
        asked.append(body[0].condition)
        body = inside(body[0].body)
    if len(asked) == 1:
        return node
    return If(ex.LogicalAnd(tuple(c for both in asked for c in walk.conjuncts(both))), body)


def _are_apart(first: If, second: If) -> bool:
    """Tell whether no name is declared in both."""
    declared = {node.name for node in first.body if isinstance(node, Declare)}
    return not any(isinstance(n, Declare) and n.name in declared for n in second.body)


# --- copies


def copied(node: Declare) -> str | None:
    """Return the name of the scalar of which an instruction makes a copy, if it makes one."""
    named = node.insn_id and isinstance(node.initial, ex.Variable)
    return node.initial.name if named else None  # type: ignore[union-attr]


def without_copies(nodes: Block, names: Container[str], aliases: dict[str, str]) -> Block:
    """Return statements in which scalars take the names of their copies.

    Parameters:
        nodes: the statements.
        names: the scalars that may.
        aliases: names that mean the same as others, and these: the new ones are added.
    """
    found = {node.name: n for n, node in enumerate(nodes) if isinstance(node, Declare)}
    result: list[Node | None] = list(nodes)
    for position, node in enumerate(nodes):
        name = copied(node) if isinstance(node, Declare) else None
        if name is None or name not in names or name not in found:
            continue
        first = result[found[name]]
        assert isinstance(first, Declare)
        assert isinstance(node, Declare)
        same = (first.dtype, first.extent, first.address_space)
        if same == (node.dtype, None, AddressSpace.PRIVATE) and name not in mentioned(
            nodes[position + 1 :]
        ):
            constant = first.constant and node.constant
            result[found[name]] = replace(first, name=node.name, constant=constant)
            result[position] = None
            found[node.name] = found[name]
            aliases |= dict.fromkeys([a for a, same in aliases.items() if same == name], node.name)
            aliases[name] = node.name
    return tuple([node for node in result if node is not None])
