"""Positions of loops among others: what is around one, and what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.ir.kernel import Kernel


def path_to(kernel: Kernel, iname: str) -> tuple[str, ...]:
    """Return the loops around that of an iname, outermost first, itself last.

    It is empty if the iname is no loop: an axis of the hardware, or one that is only reduced over.
    """
    paths = _paths(loop_tree(_nest(kernel, iname), quiet=True), ())
    return next((p for p in paths if p[-1] == iname), ())


def loops_below(kernel: Kernel, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the loops inside of the one that a path leads to, outer ones first."""
    paths = _paths(loop_tree(_nest(kernel, path[-1]) if path else kernel, quiet=True), ())
    return tuple([p[-1] for p in paths if len(p) > len(path) and p[: len(path)] == path])


def _nest(kernel: Kernel, iname: str) -> Kernel:
    """Return a kernel of what shares loops with an iname; the whole one, if it may not suffice."""
    scalars = {t.name for t in kernel.temporaries if not t.shape}
    if kernel.expanded is not kernel or not kernel.has_plain_instructions:
        return kernel
    if scalars and not all(scalars.isdisjoint(d.parameters) for d in kernel.domains):
        return kernel  # loops are around others by way of what is written in them
    insns = [kernel.instructions[number] for number in kernel.in_nests((iname,))]
    if 2 * len(insns) > len(kernel.instructions):
        return kernel
    ids = {insn.id for insn in insns}
    inames = {i for insn in insns for i in (*insn.within_inames, *insn.reduction_inames)}
    home = kernel.numbers_of_domains
    return kernel.copy(
        domains=tuple([kernel.domains[n] for n in sorted({home[i] for i in inames})]),
        tags={i: tag for i in inames if (tag := kernel.tags.get(i)) is not None},
        instructions=tuple([i.copy(depends_on=i.depends_on & ids) for i in insns]),
        priorities=tuple([p for p in kernel.priorities if not inames.isdisjoint(p)]),
    )


def _paths(nodes: Sequence[TreeNode], outer: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in nodes:
        if isinstance(node, LoopNode):
            path = (*outer, node.iname)
            yield path
            yield from _paths(node.children, path)
