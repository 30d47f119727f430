"""Halves that a work item keeps: what was made of them ahead of a barrier is made again behind it.

A compiler would keep what it converted them to, in twice as many registers as the halves need.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.lower.declare import mentioned
from polygen.lower.program import Barrier, Block, Declare, If, Loop, Node


def with_halves_read_again(block: Block) -> Block:
    """Return a block whose barriers name the arrays of halves that are used on both sides."""
    arrays = {node.name for node in block if isinstance(node, Declare) and _is_kept(node)}
    if not arrays or not any(isinstance(node, Barrier) for node in block):
        return tuple([_inside(node) for node in block])
    behind = [NO_NAMES]
    for node in reversed(block):
        behind.append(behind[-1] | (mentioned([node]) & arrays))
    made: list[Node] = []
    ahead = NO_NAMES
    for node, later in zip(block, reversed(behind[:-1]), strict=True):
        if isinstance(node, Barrier):
            made.append(replace(node, read_again=tuple(sorted(ahead & later))))
            ahead = NO_NAMES
            continue
        made.append(_inside(node))
        ahead |= mentioned([node]) & arrays
    return tuple(made)


def _inside(node: Node) -> Node:
    if not isinstance(node, Loop | If):
        return node
    return replace(node, body=with_halves_read_again(node.body))


def _is_kept(node: Declare) -> bool:
    """Tell whether something is a work item's own array of halves."""
    is_own = node.address_space is AddressSpace.PRIVATE and not node.in_registers
    is_array = node.extent is not None and node.vector is None
    return is_own and is_array and node.dtype == np.float16
