"""Reductions over one iname that cannot share its loop: each instruction gets loops of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from polygen.analysis.access.accesses import references
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel


def with_own_loops(made: Callable[[Mapping[int, Sequence[str]]], Kernel]) -> Kernel:
    """Return a kernel in which reductions share loops, unless they cannot.

    Parameters:
        made: makes the kernel; takes inames to duplicate, for instructions by their positions.
    """
    kernel = made({})
    own = _separable(kernel)
    if not own or why_none_is_permitted(kernel) is None:
        return kernel
    separated = made(own)
    return kernel if why_none_is_permitted(separated) else separated


def _separable(kernel: Kernel) -> dict[int, tuple[str, ...]]:
    """Return what reductions could have for themselves: all but one user of each iname.

    That one is an instruction that is within the iname, or else the first that reduces over it.
    """
    if not any(insn.reduction_inames for insn in kernel.instructions):
        return {}
    around = NO_NAMES.union(*(insn.within_inames for insn in kernel.instructions))
    taken = set(around)
    found: dict[int, tuple[str, ...]] = {}
    for position, insn in enumerate(kernel.instructions):
        reduced = insn.reduction_inames
        if insn.id not in kernel.expanded.instructions_by_id:
            continue
        if reduced != kernel.expanded.instructions_by_id[insn.id].reduction_inames:
            continue  # a rule has reductions, and other instructions may use it
        if not taken.isdisjoint(reduced) and not _reads_what_its_loop_holds(kernel, insn.id):
            found[position] = tuple(sorted(reduced))
        taken |= reduced
    return found


def _reads_what_its_loop_holds(kernel: Kernel, insn_id: str) -> bool:
    """Tell whether a reduction reads what each iteration of its loop writes anew.

    Of that, a loop of its own would find nothing but what the last iteration wrote.
    """
    insn = kernel.expanded.instruction(insn_id)
    for reference in references(insn):
        reduced = reference.inames - insn.within_inames
        index = NO_NAMES.union(*map(walk.free_variables, reference.index))
        writers = kernel.expanded.writers.get(reference.name, ())
        written = any(not reduced.isdisjoint(w.within_inames) for w in writers)
        if written and reduced.isdisjoint(index):
            return True
    return False
