"""`polygen.unneeded_barriers`: the barriers among the instructions that may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, loop_tree
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.ir.instruction import Barrier
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.lower.automatic import assign_axes
from polygen.lower.barriers import place_barriers
from polygen.lower.placeholder_types import with_some_types
from polygen.lower.reductions import realize_reductions


@public
def unneeded_barriers(kernel: Kernel) -> tuple[str, ...]:
    r"""Return the ids of those barriers among the instructions that may be left out.

    One that code generation would place anyway, where nobody asks for it, is not among them.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [g,l,m]: 0<=g<n and 0<=l,m<16 }",
    ...     "t[l] = a[g,l]        {id=load, inames=g:l}\n"
    ...     "... lbarrier         {id=once, inames=g, dep=load}\n"
    ...     "... lbarrier         {id=twice, inames=g, dep=once}\n"
    ...     "b[g,m] = t[15-m]     {id=store, inames=g:m, dep=twice}",
    ...     [pg.TemporaryVariable("t", shape="16", address_space=pg.AddressSpace.LOCAL), "..."],
    ... )
    >>> pg.unneeded_barriers(pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "m": "l.0"}))
    ('once',)
    """
    kernel = _plain(kernel)
    found: list[str] = []
    for barrier in [i for i in kernel.instructions if isinstance(i, Barrier)]:
        without = _without(kernel, barrier)
        if _count(without) < _count(kernel):
            found.append(barrier.id)
            kernel = without
    return tuple(found)


def _plain(kernel: Kernel) -> Kernel:
    """Return what code is generated from; which types there are does not matter here."""
    kernel = assign_axes(with_spaces(kernel.expanded))
    return realize_reductions(with_some_types(kernel), quiet=True)


def _without(kernel: Kernel, gone: Barrier) -> Kernel:
    """Return the kernel without a barrier; what came behind it stays behind what came before."""
    return kernel.copy(
        instructions=tuple([i.without(gone) for i in kernel.instructions if i is not gone])
    )


def _count(kernel: Kernel) -> int:
    tree = place_barriers(kernel, loop_tree(kernel, quiet=True))
    return sum(1 for _ in _barriers(tree))


def _barriers(nodes: Sequence[TreeNode]) -> Iterator[BarrierNode]:
    for node in nodes:
        if isinstance(node, BarrierNode):
            yield node
        elif isinstance(node, LoopNode):
            yield from _barriers(node.children)
