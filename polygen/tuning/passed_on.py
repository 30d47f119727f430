"""Moves to global memory what nests pass on to each other."""

from __future__ import annotations

from collections.abc import Callable, Collection

from polygen.errors import UserError
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis, is_parallel
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


def with_results_stored(
    kernel: Kernel, names: Collection[str], tell: Callable[[str, str], None]
) -> Kernel:
    """Return the kernel with global temporaries for results that each iteration would compute.

    s = sum(j, x[j]); x[i] = x[i]/s, with i on threads: what is private, each thread computes again
    for each i.

    Parameters:
        kernel: the kernel.
        names: the variables that results are in.
        tell: told of what cannot be stored, and why not.
    """
    for temporary in kernel.temporaries:
        name = temporary.name
        if temporary.address_space not in _OWN or name not in names:
            continue
        if not _is_shared(kernel, name):
            continue
        try:
            kernel = set_temporary_address_space(kernel, name, AddressSpace.GLOBAL)
        except UserError as error:
            tell(f"'{name}'", error.what)
    return kernel


def _is_shared(kernel: Kernel, name: str) -> bool:
    """Tell whether a reader is in a parallel loop that is not around a writer."""
    plain = kernel.expanded
    readers = [insn for insn in plain.instructions if name in insn.read_names]
    return any(
        is_parallel(kernel.tags.get(iname))
        for writer in plain.writers.get(name, ())
        for reader in readers
        for iname in reader.within_inames - writer.within_inames
    )


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
