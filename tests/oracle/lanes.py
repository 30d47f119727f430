"""Lanes, found by looking: which inames are, and which temporaries each of them has for itself."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.instruction import Assigning, CInstruction, KernelCall
from polygen.ir.kernel import Kernel


def parallel_inames(kernel: Kernel) -> frozenset[str]:
    """Return the inames whose iterations are in no order."""
    return frozenset(i for i, t in kernel.tags.items() if str(t)[0] in "gl") | lane_inames(kernel)


def lane_inames(kernel: Kernel) -> frozenset[str]:
    """Return the inames whose iterations are lanes."""
    return frozenset(i for i, t in kernel.tags.items() if str(t).split(".")[0] in ("ilp", "vec"))


def own_lanes(kernel: Kernel, name: str) -> frozenset[str]:
    """Return the inames for each lane of which there is a copy of a variable.

    These are the lanes that all mentions of a private temporary are in, and no subscript of it
    mentions; what bounds a loop has none.
    """
    variable = kernel.variables.get(name)
    found = lane_inames(kernel)
    if not found or not isinstance(variable, TemporaryVariable):
        return frozenset()
    shared = (AddressSpace.GLOBAL, AddressSpace.LOCAL)
    if variable.address_space in shared or any(name in d.parameters for d in kernel.domains):
        return frozenset()
    for insn in kernel.instructions:
        if not isinstance(insn, Assigning):
            continue
        nodes = [*insn.assignees, *insn.values, *insn.predicates]
        if isinstance(insn, KernelCall):
            nodes += insn.arguments
        mentions = [a for node in nodes for a in walk.accesses(node) if ex.name_of(a) == name]
        pasted = isinstance(insn, CInstruction) and name in insn.read_names.union(
            insn.written_names
        )
        if mentions or pasted:
            found &= insn.within_inames
        for mention in mentions:
            for index in ex.index_of(mention):
                found -= walk.free_variables(index)
    return found
