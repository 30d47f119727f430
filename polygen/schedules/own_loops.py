"""Gives an instruction loops that no other instruction is in."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.transforms.inames.duplicate_inames import duplicate_inames


def with_own_loops(
    kernel: Kernel, insn_id: str, loops: Sequence[str]
) -> tuple[Kernel, dict[str, str]]:
    """Return the kernel in which an instruction has some loops for itself, and their names.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        loops: loops that it is in, or reduces over.

    Raises:
        IllegalStep, CannotProve: if the others need the instruction in their own loops.
    """
    others = [i for i in kernel.instructions if i.id != insn_id]
    taken = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in others))
    shared = [iname for iname in loops if iname in taken]
    names = dict.fromkeys(loops, "")
    for iname in loops:
        names[iname] = iname
        if iname in shared:
            names[iname] = kernel.new_name(f"{iname}_0", names.values())
    if shared:
        new = [names[iname] for iname in shared]
        kernel = duplicate_inames(kernel, shared, f"id:{insn_id}", new)
    return kernel, names
