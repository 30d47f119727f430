"""Tells which loops may be put on an axis of the grid."""

from __future__ import annotations

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.transforms.inames.tag_inames import tag_inames


def may_be_on_axes(kernel: Kernel, iname: str) -> bool:
    """Tell whether the iterations of a loop may be those of groups of work items.

    The nest of the loop answers that in most cases; else the step is tried on the whole kernel.
    """
    if is_plainly_parallel(kernel, iname, GroupTag(0)):
        return True
    try:
        tag_inames(kernel, {iname: GroupTag(0)})
    except UserError:
        return False
    return True
