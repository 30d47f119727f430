"""Where temporaries are declared: in the innermost block that holds all of their uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.program import Assign, Block, Declare, If, Loop, Node


def expressions(node: Node) -> Iterator[Expression]:
    """Yield the expressions of a node itself, those of its body left out."""
    if isinstance(node, Assign):
        yield node.target
        yield node.value
    elif isinstance(node, Loop):
        yield node.lower
        yield node.upper
    elif isinstance(node, If):
        yield node.condition
    elif isinstance(node, Declare) and node.initial is not None:
        yield node.initial


def mentioned(nodes: Iterable[Node]) -> frozenset[str]:
    """Return every name that the nodes mention, bodies included."""
    found: set[str] = set()
    for node in nodes:
        for expression in expressions(node):
            found |= walk.free_variables(expression)
        if isinstance(node, Loop | If):
            found |= mentioned(node.body)
    return frozenset(found)


def place_declarations(block: Block, wanted: Mapping[str, Declare]) -> Block:
    """Return the block with the variables that it mentions declared.

    A scalar moves into a loop or a condition if its first use there is an assignment that does
    not depend on its old value.  A declaration takes the place of such an assignment.

    Parameters:
        wanted: how each variable would be declared.
    """
    if not wanted:
        return block
    counts: dict[str, int] = {}
    _count_assignments(block, counts)
    once = frozenset(name for name, count in counts.items() if count == 1)
    return _place(block, wanted, once)


def _count_assignments(block: Block, counts: dict[str, int]) -> None:
    for node in block:
        if isinstance(node, Assign) and isinstance(node.target, ex.Variable):
            counts[node.target.name] = counts.get(node.target.name, 0) + 1
        elif isinstance(node, Loop | If):
            _count_assignments(node.body, counts)


def _place(block: Block, wanted: Mapping[str, Declare], once: frozenset[str]) -> Block:
    users: dict[str, list[int]] = {}
    for position, node in enumerate(block):
        for name in mentioned((node,)):
            if name in wanted:
                users.setdefault(name, []).append(position)
    before: dict[int, list[Declare]] = {}
    merged: dict[int, Declare] = {}
    inside: dict[int, dict[str, Declare]] = {}
    for name in sorted(users):
        first, *others = users[name]
        node, declaration = block[first], wanted[name]
        if not others and isinstance(node, Loop | If) and _moves_into(node, name, declaration):
            inside.setdefault(first, {})[name] = declaration
        elif _starts(node, name):
            merged[first] = declaration
        else:
            before.setdefault(first, []).append(declaration)
    result: list[Node] = []
    for position, node in enumerate(block):
        result += before.get(position, ())
        if position in merged and isinstance(node, Assign):
            declaration = merged[position]
            constant = declaration.name in once
            result.append(replace(declaration, initial=node.value, constant=constant))
        elif position in inside and isinstance(node, Loop | If):
            result.append(replace(node, body=_place(node.body, inside[position], once)))
        else:
            result.append(node)
    return tuple(result)


def _moves_into(node: Loop | If, name: str, declaration: Declare) -> bool:
    if declaration.extent is not None or any(
        name in walk.free_variables(e) for e in expressions(node)
    ):
        return False
    first = next(n for n in node.body if name in mentioned((n,)))
    if isinstance(first, Loop | If):
        # Used nowhere else in this body: then it can move on inwards.
        users = [n for n in node.body if name in mentioned((n,))]
        return len(users) == 1 and _moves_into(first, name, declaration)
    return _starts(first, name)


def _starts(node: Node, name: str) -> bool:
    """Tell whether `node` gives the scalar a value that does not depend on its old one."""
    return (
        isinstance(node, Assign)
        and isinstance(node.target, ex.Variable)
        and node.target.name == name
        and name not in walk.free_variables(node.value)
    )
