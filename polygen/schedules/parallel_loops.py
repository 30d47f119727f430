"""Tells which loops may be put on an axis of the grid."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel, same_element_of
from polygen.analysis.pairs.instance_pairs import users
from polygen.errors import UserError
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.schedules.iteration_distances import Carried, carried
from polygen.schedules.nest_siblings import plain_nests
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space
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


def with_own_scalars(kernel: Kernel, ids: Collection[str]) -> Kernel:
    """Return the kernel in which each work item has the scalars that instructions alone use.

    Parameters:
        kernel: the kernel.
        ids: the ids of the instructions.
    """
    within = set(ids)
    names = [
        t.name
        for t in kernel.temporaries
        if not t.shape
        and t.address_space is AddressSpace.AUTO
        and within.issuperset(users(kernel, t.name))
    ]
    return set_temporary_address_space(kernel, names, AddressSpace.PRIVATE) if names else kernel


def on_axes(kernel: Kernel, tags: Mapping[str, str], ids: Collection[str]) -> Kernel:
    """Return the kernel with loops on axes; if nothing else will do, with scalars of their own.

    A scalar that is declared `auto` is shared where a condition, or a loop that may be empty,
    decides whether it is updated: then it could be what another iteration has written.

    Parameters:
        kernel: the kernel.
        tags: the tags of loops.
        ids: the ids of the instructions in them.

    Raises:
        UserError: if iterations need each other.
    """
    try:
        return tag_inames(kernel, tags)
    except UserError:
        own = with_own_scalars(kernel, ids)
        if own is kernel:
            raise
        try:
            return tag_inames(own, tags)
        except UserError:
            pass  # the first error is about the kernel as it was written
        raise
