"""Finds values that are uniform: the same for all work items of a group."""

from __future__ import annotations

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.loop_tree import LoopNode, assignments
from polygen.errors import BarrierNotPossible
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag
from polygen.ir.verify import excerpt
from polygen.lower.bounds import Bounds


def check_uniform(kernel: Kernel, node: LoopNode, bounds: Bounds) -> None:
    """Check that all work items of a group make the same iterations of a loop.

    Raises:
        BarrierNotPossible: if they may differ: the loop has to hold no barrier then.
    """
    names = walk.free_variables(bounds.lower) | walk.free_variables(bounds.upper)
    if not any(t.name in names for t in kernel.temporaries):
        return
    for name in sorted(names & varying_temporaries(kernel)):
        inside = list(assignments(node.children))
        writers = kernel.writers[name]
        raise BarrierNotPossible(
            f"the work items of a group have to wait for each other inside the loop of "
            f"'{node.iname}', but how often each of them runs it depends on its own '{name}'",
            where=inside[0].location,
            excerpt=excerpt(kernel, *(insn.id for insn in (*writers, *inside))),
            remedy=f"give the loop bounds that the group has in common, and make '{name}' part "
            "of a predicate",
        )


def varying_temporaries(kernel: Kernel) -> frozenset[str]:
    """Return the private temporaries whose values may differ between work items of a group.

    Others are computed by all work items alike: nothing that they depend on has to do with which
    item it is.
    """
    local = {iname for iname, tag in kernel.tags.items() if isinstance(tag, LocalTag)}
    names = (t.name for t in kernel.temporaries)
    private = {name for name in names if kernel.address_space(name) is AddressSpace.PRIVATE}
    sources = [
        (name, insn.within_inames | all_reads(kernel, insn))
        for insn in kernel.assignments
        for name in insn.written_names
        if name in private
    ]
    varying: set[str] = set()
    while True:
        new = {written for written, names in sources if not names.isdisjoint(local | varying)}
        if new <= varying:
            return frozenset(varying)
        varying |= new
