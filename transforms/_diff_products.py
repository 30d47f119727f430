"""Products, of which the derivative of each factor is the product of all others.

As a loop, that is as much work as the product itself: ``p = p*a[j]`` has the tangent
``p_dot = p_dot*a[j] + p*a_dot[j]``; and backwards, what ``p`` was before is the product of the
factors before, and the adjoint of ``p`` that of those behind.  No factor divides: some may be 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.permitted import why_none_is_permitted
from polygen.ir import walk
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.transforms._diff_draft import active
from polygen.transforms.realize_reduction import realized


def with_products_written_out(kernel: Kernel, outputs: Sequence[str], by: Sequence[str]) -> Kernel:
    """Return the kernel with the reductions written out of instructions that multiply what matters.

    That is the same kernel if there is none, or if the loops could not be nested.

    Parameters:
        kernel: without rules and calls.
        outputs: what is differentiated.
        by: by what.
    """
    multiplying = [i for i in kernel.assignments if _factors(i)]
    if not multiplying:
        return kernel
    moving = active(kernel, outputs, by)
    ids = [i.id for i in multiplying if not moving.isdisjoint(_factors(i))]
    if not ids:
        return kernel
    new = realized(kernel, ids)
    return kernel if why_none_is_permitted(new) is not None else new


def _factors(insn: Assigning) -> frozenset[str]:
    """Return the names that stand in what an instruction multiplies."""
    products = [r for r in insn.reductions if name_of(r.operation) == "product"]
    return frozenset[str]().union(*(walk.free_variables(r.operand) for r in products))
