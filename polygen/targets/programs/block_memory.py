"""Groups that are several blocks: what is in the memory of each, and which barriers are for one.

To read what is in the memory of another block takes long, and longer if all items do so.  So what
all blocks read of each other's results is stored once in the memory of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.tags import LocalTag
from polygen.lower.address import simplify
from polygen.lower.declare import mentioned
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    Verbatim,
)
from polygen.lower.quotients import mapped
from polygen.targets.programs.nodes import all_nodes

_SMALL = 1024  # bytes that all blocks have a copy of, to be read without a way to another one


def in_blocks(program: LoopProgram, axis: int) -> LoopProgram:
    """Return a program in which variables that have a part for each block are these parts.

    Small ones that all blocks use have a copy in each.  Barriers behind which no block needs what
    another one has touched ahead of it are for the work items of a block.

    Parameters:
        program: lowered for a grid.
        axis: that of the work items along which each is in a block of its own.
    """
    return replace(program, host=tuple([_host_node(node, axis) for node in program.host]))


def _host_node(node: HostNode, axis: int) -> HostNode:
    if isinstance(node, HostLoop):
        return replace(node, body=tuple([_host_node(n, axis) for n in node.body]))
    own, count = _own(node, axis), _block_count(node, axis)
    body = tuple([_of_one_block(n, own) for n in node.body])
    copied = _small_in(body) - _otherwise_used(body) if count > 1 else NO_NAMES
    body, end = _Barriers(body, own).weakened(body, _Uses(), _Uses())
    body = _begun(body, common_in(body).difference(own))
    if not end.writes.isdisjoint(copied):  # no block ends before others have written to it
        body = (*body, Barrier(frozenset((AddressSpace.LOCAL,))))
    return replace(node, body=tuple([_with_copies(n, copied, count) for n in body]))


def _block_count(launch: Launch, axis: int) -> int:
    """Return how many blocks a group has."""
    sizes = [a.size for a in launch.axes if a.tag == LocalTag(axis)]
    return sizes[0] if sizes and isinstance(sizes[0], int) else 1


def _small_in(body: Block) -> frozenset[str]:
    """Return the variables of all blocks that are worth a copy in each of them."""
    return frozenset(
        node.name
        for node in all_nodes(body)
        if isinstance(node, Declare)
        and node.address_space is AddressSpace.LOCAL
        and node.parts is None
        and node.vector is None
        and (node.extent or 1) * node.dtype.itemsize <= _SMALL
    )


def _otherwise_used(body: Block) -> frozenset[str]:
    """Return the names of what is written otherwise than by plain assignments of an element."""
    found: set[str] = set()
    for node in all_nodes(body):
        is_plain = isinstance(node, Assign) and not (node.atomicity or node.asynchronous)
        if not is_plain and not isinstance(node, Loop | If | Declare):
            found |= written_by(node)
        if isinstance(node, Loop) and node.at_once:
            found |= frozenset[str]().union(*map(written_by, node.body))
    return frozenset(found)


def _with_copies(node: Node, copied: frozenset[str], count: int) -> Node:
    if isinstance(node, Loop | If):
        return replace(node, body=tuple([_with_copies(n, copied, count) for n in node.body]))
    if isinstance(node, Declare) and node.name in copied:
        return replace(node, copies=count)
    return node


def _begun(body: Block, common: frozenset[str]) -> Block:
    """Return statements with a wait until all blocks have begun, ahead of what needs these."""
    for at, node in enumerate(body):
        waits = any(isinstance(n, Barrier) and not n.in_blocks for n in all_nodes((node,)))
        is_used = not isinstance(node, Declare) and not common.isdisjoint(mentioned((node,)))
        if waits or is_used:
            return (*body[:at], BlocksBegun(), *body[at:])
    return body


def _own(launch: Launch, axis: int) -> Mapping[str, Expression]:
    """Return of each variable with a part for each block where this block's part begins."""
    local = [n for n in all_nodes(launch.body) if isinstance(n, Declare) and n.parts is not None]
    blocks = [a for a in launch.axes if a.tag == LocalTag(axis)]
    if not blocks or any(first != 0 for _, first in blocks[0].inames):
        return {}
    index = ex.Variable(blocks[0].inames[0][0])
    return {n.name: ex.product_of((n.extent or 1) // (n.parts or 1), index) for n in local}


def _of_one_block(node: Node, own: Mapping[str, Expression]) -> Node:
    """Return a statement with the parts of a block in place of what consists of these."""

    def part(e: Expression) -> Expression:
        if not (isinstance(e, ex.Subscript) and ex.name_of(e) in own):
            return e
        start = own[ex.name_of(e)]
        return ex.Subscript(e.aggregate, simplify(ex.sum_of(e.index, ex.negated(start))))

    return _declared(mapped(node, lambda e: walk.rewrite(e, part)), own)


def _declared(node: Node, own: Mapping[str, Expression]) -> Node:
    if isinstance(node, Loop | If):
        return replace(node, body=tuple([_declared(n, own) for n in node.body]))
    if not isinstance(node, Declare) or node.parts is None:
        return node
    if node.name not in own:
        return replace(node, parts=None)
    return replace(node, extent=(node.extent or 1) // node.parts)


class _Barriers:
    """Finds out which barriers are for one block.

    What two blocks touch, one of them writing, is in order if a barrier for the whole group is
    between.  So one that is between nothing of that kind, or beside another one, is not needed
    for that.

    Parameters:
        body: what a work item executes.
        own: the variables of which each block has its own.
    """

    def __init__(self, body: Block, own: Mapping[str, Expression]) -> None:
        self._common = common_in(body).difference(own)

    def weakened(self, block: Block, before: _Uses, after: _Uses) -> tuple[Block, _Uses]:
        """Return statements with weaker barriers, where these will do.

        Parameters:
            block: the statements.
            before: what was used since the last barrier for all blocks.
            after: what may be used behind the statements.

        Returns:
            The statements, and what was used since the last such barrier at their end.
        """
        made: list[Node] = []
        behind = [after]
        for node in reversed(block):
            behind.append(behind[-1] | self._used((node,)))
        for node, later in zip(block, reversed(behind[:-1]), strict=True):
            new, before = self._one(node, before, later)
            made.append(new)
        return tuple(made), before

    def _one(self, node: Node, before: _Uses, after: _Uses) -> tuple[Node, _Uses]:
        if isinstance(node, Barrier):
            is_local = node.address_spaces == frozenset((AddressSpace.LOCAL,))
            if is_local and not before.conflicts(after):
                return replace(node, in_blocks=True), before
            return node, _Uses()
        before |= self._used((without_body(node),))
        if not isinstance(node, Loop | If):
            return node, before
        if isinstance(node, Loop):  # what is behind it is ahead of the next iteration, too
            after |= self._used((node,))
            before |= self.weakened(node.body, before, after)[1]
        body, end = self.weakened(node.body, before, after)
        return replace(node, body=body), before | end

    def _used(self, block: Block) -> _Uses:
        """Return what statements use of the memory of all blocks."""
        reads, writes = NO_NAMES, NO_NAMES
        for node in all_nodes(block):
            plain = without_body(node)
            writes |= written_by(plain)
            reads |= mentioned((plain,))
        return _Uses(reads & self._common, writes & self._common)


@dataclass(frozen=True)
class _Uses:
    """Names read and written; names that are written may be in both."""

    reads: frozenset[str] = NO_NAMES
    writes: frozenset[str] = NO_NAMES

    def __or__(self, other: _Uses) -> _Uses:
        return _Uses(self.reads | other.reads, self.writes | other.writes)

    def conflicts(self, later: _Uses) -> bool:
        """Tell whether something is used now and later, and written by one of these uses."""
        mine, theirs = self.reads | self.writes, later.reads | later.writes
        return bool(self.writes & theirs or later.writes & mine)


def common_in(body: Block) -> frozenset[str]:
    """Return the variables that a group shares."""
    return frozenset(
        node.name
        for node in all_nodes(body)
        if isinstance(node, Declare) and node.address_space is AddressSpace.LOCAL
    )


def without_body(node: Node) -> Node:
    """Return a statement without those inside of it."""
    return replace(node, body=()) if isinstance(node, Loop | If) else node


def written_by(node: Node) -> frozenset[str]:
    """Return the variables that a statement itself writes."""
    if isinstance(node, Assign):
        return frozenset(ex.name_of(target) for target, _ in node.pairs)
    if isinstance(node, Verbatim | Call):
        return frozenset(node.writes)
    if isinstance(node, Declare) and node.initial is not None:
        return frozenset((node.name,))
    return NO_NAMES
