"""Trees of which sub-groups of work items do parts, by reading each other's registers.

out = sum(j, a[j])   with j, from 0 to 255, on l.0, and sub-groups of 32:

    acc[j] = a[j]
    acc[p] = acc[p] + acc[p + 16]      (if p % 32 < 16)
    ...                                (with 8, 4, 2)
    acc[p] = acc[p] + acc[p + 1]       (if p % 32 < 1)
    sums[p // 32] = acc[p]             (if p % 32 = 0)
    total[p] = sums[p]                 (if p < 8)
    total[p] = total[p] + total[p + 4] (if p < 4; and with 2, 1)
    out = total[0]

All p are on l.0, from 0 to 255.  `acc` and `total` may be in registers (`shuffled`).  What all work
items use is stored once more, where all can read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.order.shuffled_arrays import group_shape, segment_length
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts
from polygen.ir.tags import LocalTag
from polygen.transforms.parallel_reductions.local_reductions import LocalReduction, halves

# A name, an iname on the axis, what is assigned to, the values, and conditions.
_Stage: TypeAlias = tuple[str, ex.Variable, tuple[ex.Subscript, ...], Parts, Parts]
Group: TypeAlias = tuple[str, ...]  # the accumulators of a reduction: one for each of its results


@dataclass(frozen=True)
class ShuffledTree:
    """A reduction tree of sub-groups, and its accumulators.

    Attributes:
        shared: how a group shares it.
        length: how many places in a row a sub-group has.
        own: the accumulators of work items.
        sums: those of the sub-groups, in local memory; none if there is one.
        totals: what the first sub-group makes of these in registers; none if that is not so.
        result: what all read; none if one work item does.
    """

    shared: LocalReduction
    length: int
    own: Group
    sums: Group
    totals: Group
    result: Group

    @property
    def groups(self) -> tuple[Group, ...]:
        """All accumulators."""
        return tuple([g for g in (self.own, self.sums, self.totals, self.result) if g])

    @property
    def last(self) -> Group:
        """Those in whose first places the result is."""
        return self.groups[-1]

    @property
    def extent(self) -> int:
        """The number of work items that share the reduction."""
        return self.shared.axis.extent

    @property
    def count(self) -> int:
        """The number of sub-groups."""
        return -(-self.extent // self.length)

    def stages(
        self, combined: Callable[[Parts, Parts], Parts], place: Callable[[], ex.Variable]
    ) -> Iterator[_Stage]:
        """Yield what is done in turn, once each has its own part.

        Parameters:
            combined: what the operation makes of two.
            place: makes an iname for all work items.
        """
        shared = self.shared

        def at(group: Group, where: Expression) -> tuple[ex.Subscript, ...]:
            return tuple([shared.element(name, where) for name in group])

        def add(group: Group, distance: int, *when: Expression) -> _Stage:
            p = place()
            here, there = at(group, p), at(group, ex.sum_of(p, distance))
            conditions = tuple([walk.substitute(condition, {_P.name: p}) for condition in when])
            return "combine", p, here, combined(here, there), conditions

        for distance, conditions in _steps(self.length, self.extent):
            yield add(self.own, distance, *conditions)
        if self.sums:
            p = place()
            first = ex.Comparison(ex.remainder_of(p, self.length), "==", 0)
            whose = at(self.sums, ex.floor_quotient(p, self.length))
            yield "store", p, whose, at(self.own, p), (first,)
        if self.totals:
            p = place()
            yield "load", p, at(self.totals, p), at(self.sums, p), (_below(p, self.count),)
            for distance, conditions in _steps(self.length, self.count):
                yield add(self.totals, distance, *conditions)
        elif self.sums:
            for count, distance in halves(self.count):
                yield add(self.sums, distance, _below(_P, count))
        if self.result:
            p = place()
            only = (ex.Comparison(p, "==", 0),)
            yield "share", p, at(self.result, 0), at(self.groups[-2], p), only


_P = ex.Variable("p")  # stands for the iname of a stage


def _below(place: Expression, count: int) -> Expression:
    """Return what is true of the first places."""
    return ex.Comparison(place, "==", 0) if count == 1 else ex.Comparison(place, "<", count)


def _steps(length: int, extent: int) -> Iterator[tuple[int, Parts]]:
    """Yield how far away others are in each step, and who combines with them."""
    distance = length // 2
    while distance:
        if extent > length:
            first = _below(ex.remainder_of(_P, length), distance)
            there = (_below(_P, extent - distance),) if extent % length else ()
            yield distance, (first, *there)
        elif extent > distance:
            yield distance, (_below(_P, min(distance, extent - distance)),)
        distance //= 2


def shuffled_tree(
    kernel: Kernel,
    insn: Instruction,
    shared: LocalReduction,
    size: int,
    dtypes: tuple[DType, ...],
    new_name: Callable[[], str],
) -> tuple[ShuffledTree, list[TemporaryVariable]] | None:
    """Return how sub-groups share a reduction, and the accumulators; None if they cannot.

    Parameters:
        kernel: the kernel.
        insn: the instruction that has the reduction.
        shared: how a group shares it.
        size: of a sub-group.
        dtypes: those of the results.
        new_name: makes names of accumulators.
    """
    extent = shared.axis.extent
    length = segment_length(kernel, insn.id, shared.tag.axis, extent, size) if size else 1
    if length < 2 or not is_whole_group(kernel, insn.id, shared):
        return None
    variables: list[TemporaryVariable] = []

    def group(count: int, *, shuffled: bool = False) -> Group:
        shape, space = shared.shape_for(count), AddressSpace.LOCAL
        new = [TemporaryVariable(new_name(), t, shape, space, shuffled=shuffled) for t in dtypes]
        variables.extend(new)
        return tuple([variable.name for variable in new])

    count = -(-extent // length)
    own = group(extent, shuffled=True)
    sums = group(count) if count > 1 else ()
    totals = group(extent, shuffled=True) if 1 < count <= length else ()
    result = () if _is_used_by_one(kernel, insn, shared) or (sums and not totals) else group(1)
    return ShuffledTree(shared, length, own, sums, totals, result), variables


def is_whole_group(kernel: Kernel, insn_id: str, shared: LocalReduction) -> bool:
    """Tell whether accumulators have an element for each work item, at its place."""
    shape = group_shape(kernel, insn_id)
    axes = [(shared.iname, shared.axis), *shared.outside, *shared.inside]
    tags = [kernel.tags.get(iname) for iname, _ in axes]
    known = {tag.axis for tag in tags if isinstance(tag, LocalTag)}
    return (
        shape is not None
        and len(known) == len(axes)
        and all(axis in known for axis, size in shape.sizes.items() if size > 1)
        and all(a.stride == 1 and a.base == LinearForm(shape.first[i]) for i, a in axes)
    )


def _is_used_by_one(kernel: Kernel, insn: Instruction, shared: LocalReduction) -> bool:
    """Tell whether the first work item along an axis alone executes an instruction."""
    if any(kernel.tags.get(iname) == shared.tag for iname in insn.within_inames):
        return False
    spaces = (AddressSpace.LOCAL, AddressSpace.GLOBAL)
    return all(
        name in kernel.variables and kernel.address_space(name) in spaces
        for name in insn.written_names
    )
