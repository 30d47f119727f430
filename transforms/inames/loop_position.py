"""Positions of loops among others: what is around one, and what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.ir.kernel import Kernel


def path_to(kernel: Kernel, iname: str) -> tuple[str, ...]:
    """Return the loops around that of an iname, outermost first, itself last.

    It is empty if the iname is no loop: an axis of the hardware, or one that is only reduced over.
    """
    paths = _paths(loop_tree(kernel, quiet=True), ())
    return next((p for p in paths if p[-1] == iname), ())


def loops_below(kernel: Kernel, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the loops inside of the one that a path leads to, outer ones first."""
    paths = _paths(loop_tree(kernel, quiet=True), ())
    return tuple([p[-1] for p in paths if len(p) > len(path) and p[: len(path)] == path])


def _paths(nodes: Sequence[TreeNode], outer: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in nodes:
        if isinstance(node, LoopNode):
            path = (*outer, node.iname)
            yield path
            yield from _paths(node.children, path)
