"""Arrays in registers, of which each work item has its element, as the scalars that they are."""

from __future__ import annotations

from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.lower.declare import place_declarations
from polygen.lower.program import Block, Declare, HostLoop, HostNode, If, Loop, LoopProgram, Node
from polygen.lower.quotients import mapped


def with_registers(program: LoopProgram) -> LoopProgram:
    """Return a program in which arrays in registers are scalars.

    What others read of them (`Shuffle.element`) is the others' scalar.
    """
    return replace(program, host=tuple(map(_host_node, program.host)))


def _host_node(node: HostNode) -> HostNode:
    if isinstance(node, HostLoop):
        return replace(node, body=tuple(map(_host_node, node.body)))
    wanted: dict[str, Declare] = {}
    body = _without_arrays(node.body, wanted)
    if not wanted:
        return node

    def own(e: Expression) -> Expression:
        if isinstance(e, ex.Subscript) and ex.name_of(e) in wanted:
            return e.aggregate
        return e

    scalars = tuple([mapped(n, lambda e: walk.rewrite(e, own)) for n in body])
    return replace(node, body=place_declarations(scalars, wanted))


def _without_arrays(block: Block, found: dict[str, Declare]) -> Block:
    """Return a block without declarations of arrays in registers; note how to declare them."""
    kept: list[Node] = []
    for node in block:
        if isinstance(node, Declare) and node.in_registers:
            found[node.name] = Declare(node.name, node.dtype, address_space=AddressSpace.PRIVATE)
        elif isinstance(node, Loop | If):
            kept.append(replace(node, body=_without_arrays(node.body, found)))
        else:
            kept.append(node)
    return tuple(kept)
