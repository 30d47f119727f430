"""Tells which loops may be put on an axis of the grid."""

from __future__ import annotations

from collections.abc import Container

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel, same_element_of
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.schedules.iteration_distances import Carried, carried
from polygen.schedules.nest_siblings import plain_nests
from polygen.transforms.inames.tag_inames import tag_inames


def shown_parallel(kernel: Kernel) -> frozenset[str]:
    """Return loops of element-wise nests whose subscripts show that no iteration needs another.

    That is for choices alone, and takes a fraction of the time of a proof; steps are proved.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
    """
    found: set[str] = set()
    for nest in plain_nests(kernel):
        states = carried(nest.touches, nest.loops)
        found |= {iname for iname, state in states.items() if state is Carried.NOTHING}
    return frozenset(found)


def may_be_on_axes(kernel: Kernel, iname: str, shown: Container[str] = ()) -> bool:
    """Tell whether the iterations of a loop may be those of groups of work items.

    The nest of the loop answers that in most cases; else the step is tried on the whole kernel.

    Parameters:
        kernel: the kernel.
        iname: the loop.
        shown: loops that are known to be parallel: `shown_parallel`.
    """
    if iname in shown:
        return True
    if same_element_of(kernel, iname) is not None:
        return False
    if is_plainly_parallel(kernel, iname, GroupTag(0)):
        return True
    try:
        tag_inames(kernel, {iname: GroupTag(0)})
    except UserError:
        return False
    return True
