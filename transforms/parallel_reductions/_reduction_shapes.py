"""Shapes of reductions in memory, and the axes of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygen.errors import InvalidArgument, TagConflict
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import parts_of
from polygen.ir.tags import GroupTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.parallel_reductions._contiguous_inames import neighbours_along
from polygen.transforms.parallel_reductions._partial_results import outermost
from polygen.transforms.splitting.split_iname import split_iname


@dataclass(frozen=True)
class ReductionShape:
    """The shape of a reduction in memory.

    Attributes:
        reduced: what is reduced over, first that along which it is shared.
        neighbours: the iname of the results that are side by side; None if there is one.
        is_across: whether elements of neighbouring results are neighbours: a y-reduce.
    """

    reduced: tuple[str, ...]
    neighbours: str | None
    is_across: bool


def shape_of(kernel: Kernel, insns: Sequence[Instruction]) -> ReductionShape:
    """Return how reductions lie in memory."""
    nodes = [node for i in insns for node, _ in outermost(i)]
    operands = [part for node in nodes for part in parts_of(node)]
    reduced = nodes[0].inames
    parallel = [i for i in kernel.inames if i in insns[0].within_inames]

    def count(iname: str) -> int:
        return neighbours_along(kernel, operands, iname)

    fastest = max(reversed(parallel), key=count) if parallel else None
    is_across = fastest is not None and count(fastest) > max(map(count, reduced))
    dealt = reduced[0] if is_across else max(reversed(reduced), key=count)
    order = (dealt, *(i for i in reduced if i != dealt))
    return ReductionShape(order, fastest, is_across)


def mapped(kernel: Kernel, shape: ReductionShape, insn_id: str, across: int) -> Kernel:
    """Return the kernel with results on axes of the hardware, so many in a group.

    Loops that are tagged stay as they are.
    """
    insn, nearest = kernel.instruction(insn_id), shape.neighbours
    if across > 1 and nearest is None:
        raise InvalidArgument(
            f"parallelize_reduction: there are not {across} results side by side: "
            f"'{insn_id}' is within no iname",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="leave `across` out",
        )
    if nearest is not None and across > 1:
        outer, inner = (kernel.new_name(f"{nearest}_{end}") for end in ("outer", "inner"))
        tag = LocalTag(0 if shape.is_across else 1)
        kernel = split_iname(
            kernel, nearest, across, outer_iname=outer, inner_iname=inner, inner_tag=tag
        )
        insn, nearest = kernel.instruction(insn_id), outer
    around = [i for i in reversed(kernel.inames) if i in insn.within_inames and i != nearest]
    loops = [i for i in (nearest, *around) if i is not None and i not in kernel.tags]
    axes = map(GroupTag, _free(kernel, insn_id, GroupTag))
    return tag_inames(kernel, dict(zip(loops, axes, strict=False)))


def free_axes(kernel: Kernel, insn_id: str) -> tuple[int, int]:
    """Return the axes for groups along what an instruction reduces over, and for work items."""
    groups, items = _free(kernel, insn_id, GroupTag), _free(kernel, insn_id, LocalTag)
    if not (groups and items):
        raise TagConflict(
            f"no axis is left for what '{insn_id}' reduces over",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="join inames first (join_inames, coalesce_reduction)",
        )
    return groups[0], items[0]


def _free(kernel: Kernel, insn_id: str, kind: type[GroupTag | LocalTag]) -> list[int]:
    """Return the axes of a kind that an instruction is not on."""
    tags = [kernel.tags.get(i) for i in kernel.instruction(insn_id).within_inames]
    taken = {tag.axis for tag in tags if isinstance(tag, kind)}
    return [axis for axis in range(3) if axis not in taken]
