"""Reductions that the work items of a group share, as instructions on local memory."""

from __future__ import annotations

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag
from polygen.lower.lanes import with_lane_axes
from polygen.transforms.realize_reduction import realized


def with_shared_reductions(kernel: Kernel) -> Kernel:
    """Return the kernel with trees in local memory for reductions over axes of the work items.

    Parameters:
        kernel: its types are known, and it has no rules.

    Raises:
        LocalSizeNotConstant: if a group has no constant number of work items.
    """
    shared = [insn.id for insn in kernel.instructions if _is_shared(kernel, insn)]
    if not shared:
        return kernel
    return with_lane_axes(realized(kernel, shared))


def _is_shared(kernel: Kernel, insn: Instruction) -> bool:
    return any(isinstance(kernel.tags.get(i), LocalTag) for i in insn.reduction_inames)
