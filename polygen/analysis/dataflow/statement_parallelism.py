"""The loops of each statement that carry nothing, once loops are distributed over statements.

    for i: for j:
        a[i + p, j] = b[i, j]          S1
        b[i, j + 1] = a[i, j]          S2

For p = 0, S1 and S2 depend on each other, and j carries it.  For p = 1, i carries what S2 reads
of S1; in one iteration of i, S2 may come first for all j, and then S1, whose j is parallel.  Which
dependences there are is given: those that exist for some sizes, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from polygen.analysis.dataflow.dependences import Dependence
from polygen.analysis.order.instance_order import order_of
from polygen.ir.kernel import Kernel


def parallel_loops_by_statement(
    kernel: Kernel, dependences: Iterable[Dependence]
) -> Mapping[str, tuple[str, ...]]:
    """Return for each instruction which of the loops around it need not be sequential for it.

    Loops are distributed over the strongly connected components of the dependences, from the
    outermost inwards; a loop that carries one within a component is sequential there.

    Parameters:
        kernel: the kernel.
        dependences: those that there are, direct ones or all.

    Source: Allen and Kennedy, Automatic Translation of Fortran Programs to Vector Form (1987).
    """
    order = order_of(kernel)
    found = {insn.id: list[str]() for insn in kernel.instructions}
    loops = {insn.id: tuple(order.loops(insn.id)) for insn in kernel.instructions}
    _distribute(list(found), loops, list(dependences), 0, found)
    return {insn_id: tuple(inames) for insn_id, inames in found.items()}


def _distribute(
    statements: Sequence[str],
    loops: Mapping[str, tuple[str, ...]],
    dependences: Sequence[Dependence],
    depth: int,
    found: Mapping[str, list[str]],
) -> None:
    """Add the parallel loops from a depth on of statements that the same loops are around."""
    inside = [s for s in statements if len(loops[s]) > depth]
    for component in _components(inside, dependences):
        own = [d for d in dependences if {d.source, d.sink} <= component]
        carried = {d.carried_by for d in own}
        for iname in dict.fromkeys(loops[s][depth] for s in inside if s in component):
            members = [s for s in inside if s in component and loops[s][depth] == iname]
            if iname not in carried:
                for statement in members:
                    found[statement].append(iname)
            left = [d for d in own if d.carried_by != iname]
            _distribute(members, loops, left, depth + 1, found)


def _components(
    statements: Sequence[str], dependences: Sequence[Dependence]
) -> list[frozenset[str]]:
    """Return the sets of statements that depend on each other, through others too."""
    after = {s: {s} for s in statements}
    for d in dependences:
        if d.source in after and d.sink in after:
            after[d.source].add(d.sink)
    for middle in statements:
        for statement in statements:
            if middle in after[statement]:
                after[statement] |= after[middle]
    return list(
        dict.fromkeys(
            frozenset(other for other in statements if other in after[s] and s in after[other])
            for s in statements
        )
    )
