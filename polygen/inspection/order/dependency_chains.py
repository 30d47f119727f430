"""Chains of dependencies, which order instructions within the loops that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree, statements
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Link:
    """One dependency of a chain.

    Attributes:
        before, after: the ids of an instruction and of one that depends on it.
        loop_before, loop_after: the loops that they are in, inside of those that all share;
            None for an instruction that is in none.
    """

    before: str
    after: str
    loop_before: str | None
    loop_after: str | None


def chain(kernel: Kernel, first: str, second: str) -> tuple[Link, ...]:
    """Return the shortest chain of dependencies that puts one instruction before another.

    Within the loops that both are in, loops and instructions come as wholes: so one link may end
    at an instruction of a loop, and the next start at another of the same loop.

    Returns:
        The links; none if no chain leads from the first to the second.
    """
    nodes = _block(loop_tree(kernel, quiet=True), first, second)
    home = {insn.id: n for n, node in enumerate(nodes) for insn in statements((node,))}
    came: dict[int, Link | None] = {home[first]: None}
    pending = [home[first]]
    while pending and home[second] not in came:
        here = pending.pop(0)
        for link in _links_from(kernel, nodes, home, here):
            if home[link.after] not in came:
                came[home[link.after]] = link
                pending.append(home[link.after])
    found: list[Link] = []
    at = came.get(home[second])
    while at is not None:
        found.append(at)
        at = came[home[at.before]]
    return tuple(reversed(found))


def _block(nodes: Sequence[TreeNode], first: str, second: str) -> Sequence[TreeNode]:
    """Return the innermost siblings below which both instructions are."""
    for node in nodes:
        if isinstance(node, LoopNode):
            ids = {insn.id for insn in statements((node,))}
            if first in ids and second in ids:
                return _block(node.children, first, second)
    return nodes


def _links_from(
    kernel: Kernel, nodes: Sequence[TreeNode], home: dict[str, int], here: int
) -> list[Link]:
    def loop(insn_id: str) -> str | None:
        node = nodes[home[insn_id]]
        return node.iname if isinstance(node, LoopNode) else None

    return [
        Link(dep, insn_id, loop(dep), loop(insn_id))
        for insn_id, there in home.items()
        if there != here
        for dep in sorted(kernel.instruction(insn_id).depends_on)
        if home.get(dep) == here
    ]
