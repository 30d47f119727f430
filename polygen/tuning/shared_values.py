"""Puts into memory what threads share, so that none of them computes it again.

<> total = sum(j, x[j])
for i: y[i] = x[i]/total

A private temporary has a value for each iteration that runs on its own.  With `i` on threads, each
iteration would add up all of `x`; in global memory, `total` is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable

from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space


def in_memory(kernel: Kernel, inames: Iterable[str]) -> Kernel:
    """Return the kernel with what loops on threads would compute again in memory.

    Raises:
        IllegalStep, CannotProve: if that is not legal.
    """
    names = names_computed_again(kernel, inames)
    return set_temporary_address_space(kernel, names, "global") if names else kernel


def names_computed_again(kernel: Kernel, inames: Iterable[str]) -> list[str]:
    """Return what each iteration of some loops would compute again, if it ran on its own."""
    return sorted(NO_NAMES.union(*(_computed_again(kernel, iname) for iname in inames)))


def _computed_again(kernel: Kernel, iname: str) -> frozenset[str]:
    """Return temporaries that loops compute outside of one, and that are read inside."""
    plain = kernel.expanded
    inside = [insn for insn in plain.instructions if iname in insn.within_inames]
    around = frozenset(plain.inames).intersection(*(insn.within_inames for insn in inside))
    read = NO_NAMES.union(*(insn.read_names for insn in inside))
    own = {insn.id for insn in inside}
    return frozenset(
        name
        for name in read
        if own.isdisjoint(w.id for w in plain.writers.get(name, ()))
        and _is_costly(plain, name, around)
    )


def _is_costly(kernel: Kernel, name: str, around: frozenset[str]) -> bool:
    """Tell whether a temporary that is nobody else's takes a loop to compute."""
    pending, known = [name], set[str]()
    while pending:
        name = pending.pop()
        if name in known or not _is_own(kernel, name):
            continue
        known.add(name)
        for insn in kernel.writers.get(name, ()):
            if insn.reductions or not insn.within_inames <= around:
                return True
            pending += insn.read_names
    return False


def _is_own(kernel: Kernel, name: str) -> bool:
    is_temporary = isinstance(kernel.variables.get(name), TemporaryVariable)
    return is_temporary and kernel.address_space(name) is not AddressSpace.GLOBAL
