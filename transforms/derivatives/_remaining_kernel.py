"""Joins a derivative with the rest of its kernel, and nests the loops of both."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.errors import DependencyCycle, NoLoopNest
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.claims import Independent
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from polygen.transforms.inames.unused_inames import priorities_among


def pruned(whole: Kernel, old: Kernel, new: Sequence[str], kept: frozenset[str]) -> Kernel:
    """Return the kernel with those instructions alone that some variables need.

    Parameters:
        whole: the kernel.
        old: the kernel before.
        new: the variables that it did not have.
        kept: those of its own that are computed still.
    """
    needed, pending = {*new, *kept}, [*new, *kept]
    while pending:
        for writer in whole.writers.get(pending.pop(), ()):
            more = (all_reads(whole, writer) & whole.variables.keys()) - needed
            needed |= more
            pending += sorted(more)
    gone = [i.id for i in whole.assignments if needed.isdisjoint(i.written_names)]
    left = {i.id: i for i in whole.instructions}
    for insn_id in gone:
        insn = left.pop(insn_id)
        left = {i.id: i.without(insn) for i in left.values()}
    claims = [
        claim
        for claim in whole.claims
        if not isinstance(claim, Independent) or {claim.first, claim.second} <= left.keys()
    ]
    outputs = {a.name for a in old.arguments if a.name in old.writers} - needed
    return without_idle(
        whole.copy(
            instructions=tuple(left.values()),
            claims=tuple(claims),
            arguments=tuple([a for a in whole.arguments if a.name not in outputs]),
            temporaries=tuple([t for t in whole.temporaries if t.name in needed]),
        )
    )


def with_priorities(kernel: Kernel, old: Kernel) -> Kernel:
    """Return the kernel with priorities where new inames are in loops, as they are nested."""
    try:
        tree = loop_tree(kernel, quiet=True)
    except (NoLoopNest, DependencyCycle):
        return kernel
    known = frozenset(old.inames)
    new = dict.fromkeys(path for path in paths(tree, ()) if not known.issuperset(path))
    nests = (*kernel.priorities, *(p for p in new if len(p) > 1))
    return kernel.copy(priorities=tuple(dict.fromkeys(nests)))


def paths(nodes: Sequence[TreeNode], loops: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the loops around what is innermost."""
    inner = [n for n in nodes if isinstance(n, LoopNode)]
    found = [path for n in inner for path in paths(n.children, (*loops, n.iname))]
    return found if inner else [loops]


def without_idle(kernel: Kernel) -> Kernel:
    """Return the kernel without domains that no instruction needs, and sizes of these alone."""
    used = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in kernel.instructions))
    needed = [d for d in kernel.domains if not used.isdisjoint(d.inames)]
    names = {p for d in needed for p in d.parameters}
    while more := [d for d in kernel.domains if d not in needed and names & {*d.inames}]:
        needed += more
        names |= {p for d in more for p in d.parameters}
    kept = {i for d in needed for i in d.inames}
    arrays = [a for a in kernel.variables.values() if not isinstance(a, ValueArg)]
    names = names.union(
        kernel.assumptions.parameters,
        *(i.read_names for i in kernel.instructions),
        *(
            walk.free_variables(e)
            for a in arrays
            for e in (*(a.shape or ()), *layout_expressions(a))
        ),
        *(r.parameters for i in kernel.instructions for r in i.happens_after),
    )
    for size in reversed(kernel.derived_sizes):  # which follow from earlier ones
        names |= size.names if size.name in names else frozenset()
    return kernel.copy(
        domains=tuple([d for d in kernel.domains if d in needed]),
        derived_sizes=tuple([size for size in kernel.derived_sizes if size.name in names]),
        arguments=tuple(
            [a for a in kernel.arguments if not isinstance(a, ValueArg) or a.name in names]
        ),
        tags={i: tag for i, tag in kernel.tags.items() if i in kept},
        priorities=priorities_among(kernel.priorities, kept),
        separations=tuple(
            [s for s in kernel.separations if walk.free_variables(s) <= kept | {*kernel.parameters}]
        ),
    )
