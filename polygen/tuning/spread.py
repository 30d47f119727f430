"""Loops beside reductions that are shared: on the axes of the grid, too."""

from __future__ import annotations

from polygen.errors import UserError
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag, is_parallel
from polygen.transforms._likely import likely_extent
from polygen.transforms._memory_order import along_memory
from polygen.transforms.join_inames import join_inames
from polygen.transforms.split_iname import split_iname
from polygen.transforms.tag_inames import tag_inames

_THREADS = 256
_AXES = 3


def spread(kernel: Kernel) -> Kernel:
    """Return the kernel with element-wise loops on axes, as far as that is legal.

    Where a launch has work items, what is on no axis is done by one of them.
    """
    for insn in kernel.instructions:
        if not insn.reductions:
            kernel = _spread(kernel, insn.id)
    return kernel


def _spread(kernel: Kernel, name: str) -> Kernel:
    insn = kernel.instruction(name)
    free = [iname for iname in kernel.inames if _is_free(kernel, insn, iname)]
    if not free:
        return kernel
    try:
        return _on_axes(kernel, insn, free)
    except UserError:  # a loop whose iterations need each other: it stays as it is
        return kernel


def _is_free(kernel: Kernel, insn: Instruction, iname: str) -> bool:
    return iname in insn.within_inames and not is_parallel(kernel.tags.get(iname))


def _on_axes(kernel: Kernel, insn: Instruction, free: list[str]) -> Kernel:
    """Return the kernel with neighbours in memory on neighbouring work items."""
    items = _axes_without(kernel, insn, LocalTag)
    if len(items) < _AXES:  # it is on work items already
        return kernel
    (*outer, run) = along_memory(kernel, insn.id, free)
    near = run[0]
    if len(run) > 1:
        near = kernel.new_name("_".join(run))
        kernel = join_inames(kernel, run, new_iname=near, within=f"id:{insn.id}")
    groups = _axes_without(kernel, insn, GroupTag)
    # What is in groups already, with a reduction, is done by these alone.
    if len(groups) < _AXES:
        groups = []
    outer_tag = f"g.{groups[0]}" if groups else None
    count = _beside(kernel, insn, items[0])
    kernel = split_iname(kernel, near, count, outer_tag=outer_tag, inner_tag=f"l.{items[0]}")
    others = [iname for run in reversed(outer) for iname in reversed(run)]
    tags = {i: f"g.{axis}" for i, axis in zip(others, groups[1:], strict=False)}
    return tag_inames(kernel, tags) if tags else kernel


def _axes_without(kernel: Kernel, insn: Instruction, kind: type[GroupTag | LocalTag]) -> list[int]:
    """Return the axes of a kind that an instruction is not on."""
    tags = [kernel.tags.get(iname) for iname in insn.within_inames]
    taken = {tag.axis for tag in tags if isinstance(tag, kind)}
    return [axis for axis in range(_AXES) if axis not in taken]


def _beside(kernel: Kernel, insn: Instruction, axis: int) -> int:
    """Return how many work items there are along an axis, if those of others are in its groups."""
    around = {iname for iname in insn.within_inames if is_parallel(kernel.tags.get(iname))}
    alike = [i for i in kernel.instructions if around and around <= i.within_inames]
    near = {iname for i in alike for iname in i.within_inames | i.reduction_inames}
    local = [iname for iname in near if kernel.tags.get(iname) == LocalTag(axis)]
    return max((likely_extent(kernel, iname) for iname in local), default=_THREADS)
