"""Decides whether any execution of a kernel is permitted at all."""

from __future__ import annotations

from polygen.analysis.access.domains import with_surrounding
from polygen.analysis.dataflow.early_conditions import condition_changes
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.instruction_groups import conflicts_with_groups
from polygen.analysis.order.reduction_statements import places, shares_reduction_loops
from polygen.errors import (
    DependencyCycle,
    DomainCycle,
    GroupsInterleaved,
    NoLoopNest,
    RelationContradicted,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.verify import excerpt

_NO_ORDER = (DependencyCycle, DomainCycle, GroupsInterleaved, NoLoopNest, RelationContradicted)


@per_kernel
def is_permitted(kernel: Kernel) -> bool:
    """Tell whether an order of a kernel's instances is permitted."""
    return why_none_is_permitted(kernel) is None


def why_none_is_permitted(kernel: Kernel) -> UserError | None:
    """Return the error that says why no order of a kernel's instances is permitted, or None."""
    try:
        order_of(kernel)
    except _NO_ORDER as error:
        return error
    kernel = kernel.expanded
    reducing = [insn.id for insn in kernel.instructions if insn.reductions]
    if not reducing:
        return None
    try:
        if not _have_own_loops(kernel):
            places(kernel)
    except NoLoopNest:
        what = "no loop nest has one loop an iname, those of reductions included"
        return NoLoopNest(what, excerpt=excerpt(kernel, *reducing))
    except DependencyCycle:
        what = "a reduction would have to run in a loop, and before or after it"
        return DependencyCycle(what, excerpt=excerpt(kernel, *reducing))
    return _why_not_in_its_loop(kernel) if shares_reduction_loops(kernel) else None


def _why_not_in_its_loop(kernel: Kernel) -> UserError | None:
    for insn in kernel.instructions:
        changing = condition_changes(kernel, insn)
        if changing is not None:
            what = (
                "a reduction would have to run in a loop, and after it: whether it is computed, "
                f"'{changing}' in that loop decides"
            )
            return DependencyCycle(what, excerpt=excerpt(kernel, changing, insn.id))
    return None


def _have_own_loops(kernel: Kernel) -> bool:
    """Tell whether nothing else is in the loops of any reduction.

    Then what the reductions of an instruction become stands where the instruction does.
    """
    if conflicts_with_groups(kernel):
        return False
    inames = [i for insn in kernel.instructions for r in insn.reductions for i in r.inames]
    with_surrounding(kernel, inames)
    reduced = frozenset(inames)
    return len(reduced) == len(inames) and all(
        reduced.isdisjoint(insn.within_inames) for insn in kernel.instructions
    )
