"""Walks through statements, and hoists declarations, before they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.lower.program import Assign, Block, Declare, If, Loop, Node


def all_nodes(block: Block) -> Iterator[Node]:
    """Yield all statements, those inside of others too."""
    for node in block:
        yield node
        if isinstance(node, Loop | If):
            yield from all_nodes(node.body)


def hoist_local(block: Block) -> tuple[tuple[Declare, ...], Block]:
    """Take the declarations of variables that a work group shares out of a block.

    OpenCL and CUDA want them at the beginning of a function, and without an initial value: an
    assignment takes the place of that.
    """
    found: list[Declare] = []
    rest: list[Node] = []
    for node in block:
        if isinstance(node, Declare) and node.address_space is AddressSpace.LOCAL:
            found.append(replace(node, initial=None, constant=False))
            if node.initial is not None:
                rest.append(Assign(ex.Variable(node.name), node.initial, ""))
        elif isinstance(node, Loop | If):
            inner, body = hoist_local(node.body)
            found += inner
            rest.append(replace(node, body=body) if inner else node)
        else:
            rest.append(node)
    return tuple(found), tuple(rest)
