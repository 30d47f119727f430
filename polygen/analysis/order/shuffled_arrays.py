"""Local arrays of which each work item can have its element in a register.

Work items of one sub-group read each other's registers (CUDA: warps, and shuffles).  So an array of
which each work item writes one element, and reads that one or those of work items in its sub-group,
needs no memory.  A sub-group is a number of work items in a row, the first axis fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from graphlib import TopologicalSorter

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.order.dependency_relations import standing_before
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.instruction import Assigning, Barrier, CInstruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import LocalTag, is_lane


@dataclass(frozen=True)
class GroupShape:
    """The shape of a group: its number of work items, and the inames along it.

    Attributes:
        sizes: along each axis that is used.
        first: the first value of each iname on an axis.
    """

    sizes: Mapping[int, int]
    first: Mapping[str, int]

    def stride(self, axis: int) -> int:
        """Return how far apart neighbours along an axis are, as work items are counted."""
        return reduce(int.__mul__, [n for a, n in self.sizes.items() if a < axis], 1)


def group_shape(kernel: Kernel, insn_id: str) -> GroupShape | None:
    """Return the shape of all groups that may execute an instruction, as far as strides go.

    None if some may have others.  An instruction that the kernel does not have yet may be in any.
    """
    return _group_shape(kernel, _phases(kernel).get(insn_id, ()))


@per_kernel
def _phases(kernel: Kernel) -> Mapping[str, tuple[int, ...]]:
    """Return, for each instruction, whether it is before (-1) or after (1) each end of launches."""
    ends = [
        insn
        for insn in kernel.instructions
        if isinstance(insn, Barrier)
        and insn.scope is AddressSpace.GLOBAL
        and not insn.within_inames
    ]
    found = {insn.id: [0] * len(ends) for insn in kernel.instructions}
    if not ends:
        return dict.fromkeys(found, ())
    before: dict[str, frozenset[str]] = {}
    direct = standing_before(kernel)
    for insn_id in TopologicalSorter(direct).static_order():
        before[insn_id] = direct[insn_id].union(*(before[name] for name in direct[insn_id]))
    for place, end in enumerate(ends):
        for insn_id, phase in found.items():
            phase[place] = (end.id in before[insn_id]) - (insn_id in before[end.id])
    return {insn_id: tuple(phase) for insn_id, phase in found.items()}


@per_kernel
def _group_shape(kernel: Kernel, phase: tuple[int, ...]) -> GroupShape | None:
    """Return the shape of all groups that execute what is not in another launch for sure."""
    phases = _phases(kernel)
    used = {
        iname
        for insn in kernel.instructions
        if all(a * b >= 0 for a, b in zip(phase, phases[insn.id], strict=False))
        for iname in insn.within_inames | insn.reduction_inames
    }
    counts: dict[int, set[int]] = {}
    first: dict[str, int] = {}
    for iname, tag in kernel.tags.items():
        if not isinstance(tag, LocalTag) or iname not in used:
            continue
        values = _values(kernel, iname)
        if values is None:
            return None
        first[iname] = values.start
        counts.setdefault(tag.axis, set()).add(len(values))
    if any(len(several) > 1 for axis, several in counts.items() if axis < max(counts)):
        return None
    return GroupShape({axis: max(several) for axis, several in counts.items()}, first)


def _values(kernel: Kernel, iname: str) -> range | None:
    """Return all values of an iname, if they are between constants."""
    flat = domain_of(kernel, with_surrounding(kernel, (iname,)))
    alone = unflatten(project_out(flat, [n for n in flat_names(flat) if n != iname]), [iname])
    least, most = alone.dim_min_val(0), alone.dim_max_val(0)
    if not (least.is_int() and most.is_int()):
        return None
    return range(least.to_python(), most.to_python() + 1)


@dataclass(frozen=True)
class Shuffles:
    """The arrays that are in registers.

    Attributes:
        names: of the arrays.
        distances: for each instruction that reads elements of other work items: these, and how many
            work items further on each is.
    """

    names: frozenset[str]
    distances: Mapping[str, Mapping[ex.Subscript, int]]

    def of(self, insn_id: str) -> Mapping[ex.Subscript, int]:
        """Return what an instruction reads of others, and how many work items further on."""
        return self.distances.get(insn_id, {})


_NONE = Shuffles(frozenset(), {})


@per_kernel
def shuffles_of(kernel: Kernel) -> Shuffles:
    """Return which arrays of a kernel are in registers: of those that may be."""
    wanted = [t for t in kernel.temporaries if t.shuffled and t.shape]
    if not wanted or not kernel.options.sub_group_size:
        return _NONE
    names: set[str] = set()
    distances: dict[str, dict[ex.Subscript, int]] = {}
    for array in wanted:
        users = [i for i in kernel.assignments if array.name in {*i.read_names, *i.written_names}]
        shapes = [group_shape(kernel, insn.id) for insn in users]
        if not shapes or shapes[0] is None or any(shape != shapes[0] for shape in shapes):
            continue
        found = _Registers(kernel, shapes[0], array).found(users)
        if found is not None:
            names.add(array.name)
            for insn_id, far in found.items():
                distances.setdefault(insn_id, {}).update(far)
    return Shuffles(frozenset(names), distances)


class _Registers:
    """Looks at all accesses of an array."""

    def __init__(self, kernel: Kernel, shape: GroupShape, array: TemporaryVariable) -> None:
        self._kernel, self._shape, self._array = kernel, shape, array
        self._size = kernel.options.sub_group_size or 0
        self._axes: tuple[int, ...] | None = None  # of the group, one for each of the array's

    def found(self, users: Sequence[Assigning]) -> dict[str, dict[ex.Subscript, int]] | None:
        """Return the far reads of each instruction; None if the array has to be in memory."""
        name = self._array.name
        if not self._is_local() or not all(map(self._is_plain, users)):
            return None
        targets = [(i, t) for i in users for t in i.assignees if ex.name_of(t) == name]
        if not all(self._is_own_write(*write) for write in targets):
            return None
        if self._axes is None or not self._tells_work_items_apart(self._axes):
            return None
        far: dict[str, dict[ex.Subscript, int]] = {}
        for insn in users:
            for node in self._reads(insn):
                distance = self._distance(insn, node, self._axes)
                if distance is None or (distance and insn.atomicity is not None):
                    return None
                if distance:
                    far.setdefault(insn.id, {})[node] = distance
        return far

    def _is_local(self) -> bool:
        array = self._array
        plain = array.dim_tags is None and array.initializer is None and array.alignment is None
        return plain and self._kernel.address_space(array.name) is AddressSpace.LOCAL

    def _is_plain(self, insn: Assigning) -> bool:
        """Tell whether the values of an instruction alone may read the array, in no lanes."""
        if isinstance(insn, CInstruction | KernelCall):
            return False
        special = insn.atomicity is not None or insn.asynchronous
        if special and self._array.name in insn.written_names:
            return False
        if any(is_lane(self._kernel.tags.get(i)) for i in insn.within_inames):
            return False
        elsewhere = [*insn.predicates, *(i for t in insn.assignees for i in ex.index_of(t))]
        return all(self._array.name not in walk.free_variables(node) for node in elsewhere)

    def _reads(self, insn: Assigning) -> Iterator[ex.Subscript]:
        for value in insn.values:
            for node in walk.subexpressions(value):
                if isinstance(node, ex.Subscript) and ex.name_of(node) == self._array.name:
                    yield node

    def _tells_work_items_apart(self, axes: tuple[int, ...]) -> bool:
        sizes = self._shape.sizes
        several = {axis for axis, size in sizes.items() if size > 1}
        if len(set(axes)) < len(axes) or not several <= set(axes):
            return False
        inner = zip(axes[1:], self._array.shape[1:], strict=True)
        return all(isinstance(extent, int) and sizes[axis] <= extent for axis, extent in inner)

    def _is_own_write(self, insn: Assigning, target: ex.Variable | ex.Subscript) -> bool:
        """Tell whether a work item writes the element at its place along axes of the group."""
        places = self._places(insn)
        found: list[int] = []
        for index in ex.index_of(target):
            form = linear_form(index)
            axis = next((a for a, place in places.items() if place == form), None)
            if axis is None:
                return False
            found.append(axis)
        if self._axes is None:
            self._axes = tuple(found)
        return self._axes == tuple(found)

    def _places(self, insn: Assigning) -> dict[int, LinearForm]:
        """Return where along each axis the work item is that executes an instance."""
        places: dict[int, LinearForm] = {}
        for iname in insn.within_inames:
            tag = self._kernel.tags.get(iname)
            if isinstance(tag, LocalTag):
                places[tag.axis] = LinearForm.of_name(iname) - self._shape.first[iname]
        if self._has_owner(insn):
            for axis in self._shape.sizes.keys() - places.keys():
                places[axis] = LinearForm()  # the first one along it
        return places

    def _has_owner(self, insn: Assigning) -> bool:
        """Tell whether one work item alone executes an instruction along axes that it lacks."""
        shared = (AddressSpace.LOCAL, AddressSpace.GLOBAL)
        return all(self._kernel.address_space(name) in shared for name in insn.written_names)

    def _distance(self, insn: Assigning, node: ex.Subscript, axes: tuple[int, ...]) -> int | None:
        """Return how many work items further on an element is, if in the same sub-group."""
        places = self._places(insn)
        far: dict[int, int] = {}
        for axis, index in zip(axes, ex.index_tuple(node), strict=True):
            form = linear_form(index)
            if form is None or axis not in places:
                return None
            further = form - places[axis]
            if not further.is_constant:
                return None
            if further.constant:
                far[axis] = further.constant
        if not far:
            return 0
        if len(far) > 1 or not self._shape.sizes.keys() <= places.keys():
            return None
        ((axis, steps),) = far.items()
        distance = steps * self._shape.stride(axis)
        return distance if self._is_near(insn, places, axis, steps, distance) else None

    def _is_near(
        self,
        insn: Assigning,
        places: Mapping[int, LinearForm],
        axis: int,
        steps: int,
        distance: int,
    ) -> bool:
        """Tell whether all that execute an instruction have someone there, in their sub-group."""
        own = LinearForm()
        for a, place in places.items():
            own += place * self._shape.stride(a)
        other = (places[axis] + steps).expression()
        here, there = (own // self._size, (own + distance) // self._size)
        conditions = (
            ex.Comparison(other, ">=", 0),
            ex.Comparison(other, "<", self._shape.sizes[axis]),
            ex.Comparison(here.expression(), "==", there.expression()),
        )
        near = condition_set(ex.LogicalAnd(conditions))
        inames = with_surrounding(self._kernel, insn.within_inames)
        executed = domain_of(self._kernel, inames).intersect(self._kernel.assumptions.flat)
        for given in filter(None, map(condition_set, insn.predicates)):
            executed = executed.intersect(given)
        return near is not None and bool(executed.is_subset(near))


def segment_length(kernel: Kernel, insn_id: str, axis: int, extent: int, size: int) -> int:
    """Return how many places in a row along an axis of the group are in one sub-group.

    Such segments follow each other from the first place on; the last one may be shorter.  A power
    of two, 1 if neighbours need not be in one sub-group.

    Parameters:
        kernel: the kernel.
        insn_id: that of an instruction that such groups execute.
        axis: of the group.
        extent: how many places there are.
        size: of a sub-group.
    """
    shape = group_shape(kernel, insn_id)
    if shape is None or axis not in shape.sizes:
        return 1
    stride, length = shape.stride(axis), 1
    is_last = axis == max(shape.sizes)
    if stride & (stride - 1):
        return 1
    while (
        2 * length * stride <= size
        and length < extent
        and (is_last or shape.sizes[axis] % (2 * length) == 0)
    ):
        length *= 2
    return length
