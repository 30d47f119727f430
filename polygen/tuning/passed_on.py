"""Moves to global memory what nests pass on to each other."""

from __future__ import annotations

from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space

_OWN = (AddressSpace.AUTO, AddressSpace.PRIVATE)


def with_passed_on(kernel: Kernel) -> Kernel:
    """Return the kernel with global temporaries for what is read in other loops than its own.

    Which launch these loops are in is not known yet; what is private lives in one alone.
    """
    for temporary in kernel.temporaries:
        if temporary.address_space in _OWN and _is_passed_on(kernel, temporary.name):
            kernel = set_temporary_address_space(kernel, temporary.name, AddressSpace.GLOBAL)
    return kernel


def _is_passed_on(kernel: Kernel, name: str) -> bool:
    """Tell whether loops around a writer are not around a reader, or whether there are none.

    What is on the axes of its readers already, each work item has for itself.
    """
    plain = kernel.expanded
    around = [writer.within_inames for writer in plain.writers.get(name, ())]
    readers = [insn.within_inames for insn in plain.instructions if name in insn.read_names]
    return any(
        not loops or not (loops <= others or _are_on_axes(kernel, loops, others))
        for loops in around
        for others in readers
    )


def _are_on_axes(kernel: Kernel, loops: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether two sets of loops have the same ones on axes, and some."""
    first, second = (
        {iname for iname in inames if is_on_axis(kernel.tags.get(iname))}
        for inames in (loops, others)
    )
    return bool(first) and first == second
