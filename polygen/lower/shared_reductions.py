"""Reductions that the work items of a group share, as instructions on local memory."""

from __future__ import annotations

from collections.abc import Iterable

from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag
from polygen.lower.lanes import with_lane_axes
from polygen.transforms.parallel_reductions.realize_reduction import realized


def with_shared_reductions(kernel: Kernel, ids: Iterable[str] | None = None) -> Kernel:
    """Return the kernel with trees in local memory for reductions over axes of the work items.

    Parameters:
        kernel: its types are known, and it has no rules.
        ids: of the instructions whose reductions these are; without, of all.

    Raises:
        LocalSizeNotConstant: if a group has no constant number of work items.
    """
    insns = kernel.instructions if ids is None else map(kernel.instruction, ids)
    shared = [insn.id for insn in insns if _is_shared(kernel, insn)]
    if not shared:
        return kernel
    return with_lane_axes(realized(kernel, shared))


def _is_shared(kernel: Kernel, insn: Instruction) -> bool:
    return any(isinstance(kernel.tags.get(i), LocalTag) for i in insn.reduction_inames)
