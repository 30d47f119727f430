"""Reductions of which each operand has a factor in the derivative that depends on all others.

As a loop, the derivative of a product is as much work as the product itself: ``p = p*a[j]`` has the
tangent ``p_dot = p_dot*a[j] + p*a_dot[j]``; and backwards, what ``p`` was before is the product of
the factors before, and the adjoint of ``p`` that of those behind.  Nothing is divided by a factor,
which may be 0.  So is the tangent of a minimum: ``m = min(m, a[j])`` has that of the smaller one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.order.loop_tree import loop_tree
from polygen.errors import TypeNotFound
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.transforms.derivatives._derivative_draft import active
from polygen.transforms.derivatives._remaining_kernel import paths
from polygen.transforms.parallel_reductions.realize_reduction import realized

WITH_TANGENT = ("product", "min", "max")
WITH_ADJOINT = ("product",)


def as_loops(
    kernel: Kernel, outputs: Sequence[str], by: Sequence[str], operations: Collection[str]
) -> Kernel:
    """Return the kernel with reductions written out, of instructions that reduce what matters.

    That is the same kernel if there are none, if their types are not known, or if the loops could
    not be nested.

    Parameters:
        kernel: without rules and calls.
        outputs: what is differentiated.
        by: by what.
        operations: the reductions that are looked for.
    """
    reducing = [i for i in kernel.assignments if _operands(i, operations)]
    if not reducing:
        return kernel
    moving = active(kernel, outputs, by)
    ids = [i.id for i in reducing if not moving.isdisjoint(_operands(i, operations))]
    if not ids:
        return kernel
    try:
        new = realized(kernel, ids)
    except TypeNotFound:  # types are found at the call, then
        return kernel
    if why_none_is_permitted(new) is not None:
        return kernel
    inames = {iname for i in reducing for iname in i.reduction_inames}
    nests = [path for path in paths(loop_tree(new, quiet=True), ()) if inames & {*path}]
    return new.copy(priorities=tuple(dict.fromkeys((*new.priorities, *nests))))


def _operands(insn: Assigning, operations: Collection[str]) -> frozenset[str]:
    """Return the names that stand in what an instruction reduces."""
    found = [r for r in insn.reductions if name_of(r.operation) in operations]
    return NO_NAMES.union(*(walk.free_variables(r.operand) for r in found))
