"""Reductions over an axis of the work items: a group adds up in a tree, in local memory.

out[i] = sum(j, a[i, j])   with j, from 0 to 4, on l.0:

    acc_j[j] = a[i, j]                            (within j)
    acc_j[acc_j_0] = acc_j[acc_j_0] + acc_j[acc_j_0 + 3]     (within acc_j_0, from 0 to 1)
    acc_j[acc_j_1] = acc_j[acc_j_1] + acc_j[acc_j_1 + 2]     (within acc_j_1, which is 0)
    acc_j[acc_j_2] = ...                                     (and so on)
    out[i] = acc_j[0]

Work items that have nothing to reduce contribute the operation's identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.moving_box import TileAxis, tile_axis
from polygen.errors import LocalSizeNotConstant
from polygen.ir import expression as ex
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of
from polygen.ir.tags import IlpTag, LocalTag, VectorTag
from polygen.ir.verify import excerpt


@dataclass(frozen=True)
class LocalReduction:
    """A reduction of which a group of work items does parts.

    Attributes:
        iname: the one on an axis of the work items.
        tag: this axis.
        axis: its values, which are places in the accumulators.
        outside, inside: the other axes of the accumulators, for what is executed side by side
            around it: neighbours along the first axis of the work items are neighbours in memory.
        inner: what a work item reduces itself.
    """

    iname: str
    tag: LocalTag
    axis: TileAxis
    outside: tuple[tuple[str, TileAxis], ...]
    inside: tuple[tuple[str, TileAxis], ...]
    inner: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the accumulators."""
        return self.shape_for(self.axis.extent)

    def shape_for(self, count: int) -> tuple[int, ...]:
        """Return the shape of arrays with so many elements for what the group reduces."""
        outside, inside = ([axis.extent for _, axis in a] for a in (self.outside, self.inside))
        return *outside, count, *inside

    def element(self, name: str, place: Expression) -> ex.Subscript:
        """Return the element of an accumulator at a place of the group's."""
        outside, inside = (
            [axis.place(LinearForm.of_name(iname)) for iname, axis in axes]
            for axes in (self.outside, self.inside)
        )
        index = (*outside, place, *inside)
        return ex.Subscript(ex.Variable(name), index if len(index) > 1 else place)

    @property
    def own_place(self) -> Expression:
        """The place of what the iname's value contributes."""
        return self.axis.place(LinearForm.of_name(self.iname))

    def stages(self) -> Iterator[tuple[int, int]]:
        """Yield for each stage how many places are updated, and how far away the others are."""
        return halves(self.axis.extent)


def halves(count: int) -> Iterator[tuple[int, int]]:
    """Yield the stages of a tree over places: how many are updated, how far away the others are."""
    while count > 1:
        half = (count + 1) // 2
        yield count - half, half
        count = half


def local_reduction(
    kernel: Kernel, insn: Instruction, reduction: ex.Reduction
) -> LocalReduction | None:
    """Return how a group shares a reduction; None if it has no iname on an axis of work items.

    Raises:
        LocalSizeNotConstant: if the number of work items is no constant.
    """
    own = [i for i in reduction.inames if isinstance(kernel.tags.get(i), LocalTag)]
    if not own or not facts_of(reduction.operation).regroups:
        return None
    return along(kernel, insn, own[0], tuple([i for i in reduction.inames if i != own[0]]))


def along(
    kernel: Kernel, insn: Instruction, iname: str, inner: tuple[str, ...] = ()
) -> LocalReduction:
    """Return how a group shares what it reduces along an iname on an axis of work items.

    Parameters:
        kernel: the kernel.
        insn: the instruction that has the reduction.
        iname: the iname.
        inner: those over which a work item reduces.

    Raises:
        LocalSizeNotConstant: if the number of work items is no constant.
    """
    tag = kernel.tags[iname]
    assert isinstance(tag, LocalTag)
    outside: list[tuple[str, TileAxis]] = []
    inside: list[tuple[str, TileAxis]] = []
    around = insn.within_inames - {iname}
    copied = [i for i in kernel.inames if i in around and _is_copied(kernel, i)]
    for other in sorted(copied, key=lambda i: -_axis_number(kernel, i)):
        nearer = _axis_number(kernel, other) < tag.axis
        (inside if nearer else outside).append((other, _axis(kernel, insn, other)))
    axis = _axis(kernel, insn, iname)
    return LocalReduction(iname, tag, axis, tuple(outside), tuple(inside), inner)


def all_contribute(kernel: Kernel, insn: Instruction, found: LocalReduction) -> bool:
    """Tell whether each work item of a group has something to reduce, whenever one has."""
    inames = with_surrounding(kernel, insn.within_inames | {found.iname})
    value, first = LinearForm.of_name(found.iname), found.axis.base
    if found.axis.stride != 1:
        return False
    places: isl.Set | None = condition_set(
        ex.LogicalAnd(
            (
                ex.Comparison((value - first).expression(), ">=", 0),
                ex.Comparison((value - first).expression(), "<", found.axis.extent),
            )
        )
    )
    assert places is not None
    needed = domain_of(kernel, insn.within_inames - {found.iname}).intersect(places)
    return bool(needed.intersect(kernel.assumptions.flat).is_subset(domain_of(kernel, inames)))


def _is_copied(kernel: Kernel, iname: str) -> bool:
    return isinstance(kernel.tags.get(iname), LocalTag | IlpTag | VectorTag)


def _axis_number(kernel: Kernel, iname: str) -> int:
    """Return which axis of the work items an iname is on; lanes come after all of them."""
    tag = kernel.tags[iname]
    return tag.axis if isinstance(tag, LocalTag) else 3


def _axis(kernel: Kernel, insn: Instruction, iname: str) -> TileAxis:
    """Return the places of an iname's values, whatever those of others are."""
    around = with_surrounding(kernel, [iname])
    values = project_out(domain_of(kernel, around), around - {iname})
    axis = tile_axis(unflatten(values, (iname,)))
    if axis is not None:
        return axis
    raise LocalSizeNotConstant(
        f"instruction '{insn.id}' reduces on {kernel.tags[iname]}, along which the number of work "
        f"items is no constant: that of values of '{iname}'",
        where=insn.location,
        excerpt=excerpt(kernel, insn.id),
        remedy=f"split '{iname}' by a constant and leave the inner loop on the axis",
    )
