"""Loops and domains of products: nobody else's, and one for rows and columns that end together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polygen.analysis.access.domains import surrounding_inames
from polygen.ir.kernel import Kernel
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.join_domains import join_domains


def without_others(kernel: Kernel, loops: Sequence[str], insns: Collection[str]) -> Kernel:
    """Return the kernel in which no other instruction is in some loops.

    Parameters:
        kernel: the kernel.
        loops: the loops.  Others get copies of these, and of the loops whose bounds mention them.
        insns: the ids of the instructions that stay in them.

    Raises:
        IllegalStep, NotDistributable: if others need these in their own loops.
    """
    for insn in kernel.instructions:
        used = insn.within_inames | insn.reduction_inames
        if insn.id in insns or used.isdisjoint(loops):
            continue
        ending = [i for i in kernel.inames if not surrounding_inames(kernel, i).isdisjoint(loops)]
        shared = [iname for iname in dict.fromkeys((*loops, *ending)) if iname in used]
        taken: list[str] = []
        for iname in shared:
            taken.append(kernel.new_name(f"{iname}_0", taken))
        kernel = duplicate_inames(kernel, shared, insn.id, taken)
    return kernel


def with_one_domain(kernel: Kernel, rows: str, columns: str) -> Kernel:
    """Return the kernel in which rows may end with columns, and columns with rows: a triangle.

    Raises:
        NotTheSame: if other instructions would lose iterations.
    """
    pair = (rows, columns)
    if any(not surrounding_inames(kernel, iname).isdisjoint(pair) for iname in pair):
        return join_domains(kernel, pair)
    return kernel


def is_part(kernel: Kernel, rows: str, columns: str, depth: str) -> bool:
    """Tell whether rows, columns, or a sum end with each other.

    Parameters:
        kernel: the kernel.
        rows: the loop over rows.
        columns: the loop over columns.
        depth: the loop of the sum.
    """
    return end_together(kernel, rows, columns) or is_deep(kernel, rows, columns, depth)


def is_deep(kernel: Kernel, rows: str, columns: str, depth: str) -> bool:
    """Tell whether a sum ends with rows or columns: as those over a triangular factor do.

    Parameters are those of `is_part`.
    """
    return end_together(kernel, rows, depth) or end_together(kernel, columns, depth)


def end_together(kernel: Kernel, one: str, other: str) -> bool:
    """Tell whether a loop is in the domain of another one, or its bounds may mention it."""
    if kernel.home_domains[one] is kernel.home_domains[other]:
        return True
    around = surrounding_inames(kernel, one), surrounding_inames(kernel, other)
    return other in around[0] or one in around[1]
