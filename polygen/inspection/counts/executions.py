"""Counts executions of an instruction: by work items, by sub-groups, by work groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import TypeVar

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import InvalidArgument
from polygen.inspection.counts.count import Count, added_up, count_of
from polygen.inspection.counts.count_keys import CountGranularity, MemAccess, Op
from polygen.inspection.counts.occurrences import (
    Occurrence,
    Seen,
    domain_of_occurrence,
    not_countable,
    occurrences,
)
from polygen.ir import expression as ex
from polygen.ir.any_instruction import Assigning
from polygen.ir.array import AddressSpace
from polygen.ir.cached import cached_property
from polygen.ir.domain import intersection, project_out, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag
from polygen.language.within import matching
from polygen.lower.hidden import without_auto
from polygen.lower.lower import Model, lower
from polygen.lower.program import (
    Block,
    HardwareAxis,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
)
from polygen.lower.spaces import with_chosen_spaces
from polygen.source import caller_location

_T = TypeVar("_T")
_Key = TypeVar("_Key", bound=Op | MemAccess)
_GUESSED = 32  # work items of a sub-group


@per_kernel
def in_full(kernel: Kernel) -> Kernel:
    """Return a kernel with all types, without rules and calls, and with nothing left open.

    That is, with axes for ``l.auto``, and with each temporary where it is in generated code.
    """
    return with_chosen_spaces(infer_types(kernel, index_type(kernel)).expanded)


@per_kernel
def lowered(kernel: Kernel) -> LoopProgram:
    """Return the loop program of a kernel in full, on a grid."""
    index = index_type(kernel)
    plain = infer_types(kernel, index).expanded
    return lower(without_auto(plain, index), Model.GRID, index)


def launched(kernel: Kernel) -> LoopProgram:
    """Return a loop program that has the launches of a kernel: calls of libraries are some."""
    if not any(isinstance(insn, LibraryCall) for insn in kernel.instructions):
        return lowered(kernel)
    index = index_type(kernel)
    return lower(without_auto(kernel, index), Model.GRID, index)


def launches_in(nodes: Sequence[HostNode]) -> Iterator[Launch]:
    """Yield what is launched, in loops on the host too."""
    for node in nodes:
        if isinstance(node, HostLoop):
            yield from launches_in(node.body)
        else:
            yield node


def waiting(kernel: Kernel) -> frozenset[str]:
    """Return the inames of the loops in which the whole grid waits."""
    return _around(lowered(kernel).host)


def _around(nodes: Sequence[HostNode]) -> frozenset[str]:
    loops = [node for node in nodes if isinstance(node, HostLoop)]
    return NO_NAMES.union((loop.iname for loop in loops), *(_around(n.body) for n in loops))


def group_extents(kernel: Kernel) -> tuple[int, int, int]:
    """Return how many work items a group has along each axis, in the launch that has most."""
    extents = [1, 1, 1]
    if any(isinstance(tag, LocalTag) for tag in in_full(kernel).tags.values()):
        for launch in launches_in(lowered(kernel).host):
            for axis in launch.axes:
                if isinstance(axis.tag, LocalTag):
                    assert isinstance(axis.size, int)  # lowering refuses others
                    extents[axis.tag.axis] = max(extents[axis.tag.axis], axis.size)
    return extents[0], extents[1], extents[2]


def _subgroup_size(given: int | str | None) -> int | None:
    """Return how many work items a sub-group has, as an argument says it.

    Raises:
        InvalidArgument: if it says nothing of the kind.
    """
    if given == "guess":
        return _GUESSED
    if given is None or (isinstance(given, int) and given > 0):
        return given
    raise InvalidArgument(
        f"subgroup_size={given!r} is no number of work items",
        where=caller_location(),
        remedy='pass a positive number, such as 32, or "guess"',
    )


@dataclass(frozen=True)
class Asked:
    """The arguments that `get_op_map` and `get_mem_access_map` share, checked.

    Attributes:
        redundant: whether to count what work items do that have no part in an instruction, but
            execute it all the same.
        subgroup_size: how many work items a sub-group has; None if that was not said.
        within: which instructions count.
    """

    redundant: bool
    subgroup_size: int | str | None
    within: str | Sequence[str] | None


def counted(
    kernel: Kernel, plain: Kernel, seen: Seen[_T], key_of: Callable[[_T], _Key], asked: Asked
) -> dict[_Key, Count]:
    """Return how often each kind of thing is done.

    Parameters:
        kernel: the kernel, as the user has it.
        plain: the same in full.
        seen: what is counted.
        key_of: returns of which kind that is, and for whom it is counted.
        asked: what was asked for.
    """
    size = _subgroup_size(asked.subgroup_size)
    executions = Executions(kernel, plain, size, redundant=asked.redundant)
    wanted = {insn.id for insn in matching(plain, asked.within)}
    waits = partial(waiting, kernel)

    def counts() -> Iterator[tuple[_Key, Count]]:
        for insn in (i for i in plain.assignments if i.id in wanted):
            for occurrence, times in occurrences(plain, insn, seen, waits).items():
                key = key_of(occurrence.what)
                granularity = key.count_granularity or CountGranularity.WORKITEM
                yield key, executions.count(insn, occurrence, granularity, seen.name) * times

    return added_up(counts())


class Executions:
    """Counts what the instructions of a kernel do.

    Parameters:
        kernel: the kernel, as the user has it.
        plain: the same in full.
        subgroup_size: how many work items a sub-group has; None if that was not said.
        redundant: whether to count what work items do that have no part in an instruction, but
            execute it all the same.
    """

    def __init__(
        self, kernel: Kernel, plain: Kernel, subgroup_size: int | None, *, redundant: bool
    ) -> None:
        self._kernel, self._plain = kernel, plain
        self._subgroup_size, self._redundant = subgroup_size, redundant

    def count(
        self, insn: Assigning, occurrence: Occurrence[_T], granularity: str, what: str
    ) -> Count:
        """Return how often something is done.

        Parameters:
            insn: the instruction.
            occurrence: where it stands there.
            granularity: one of `CountGranularity`.
            what: what it is called in messages.

        Raises:
            NotCountable: if data decides.
            InvalidArgument: if the size of sub-groups is needed, and was not said.
        """
        points, where = domain_of_occurrence(self._plain, insn, occurrence, what)
        names = set(occurrence.inames)
        if granularity == CountGranularity.WORKITEM and not self._redundant:
            return self._number(insn, points, names, where)
        items = self._items(insn, occurrence)
        if self._redundant:
            for axis in self._repeated(insn, occurrence):
                name = self._name(axis.tag)
                points = intersection(points, self._range(insn, name, axis.size, what))
                names.add(name)
                if isinstance(axis.tag, LocalTag):
                    items[axis.tag.axis] = (name, 0)
        if granularity != CountGranularity.WORKITEM:
            if granularity == CountGranularity.SUBGROUP:
                points, names = self._in_subgroups(insn, points, names, items)
            inside = [name for name, _ in items.values()]
            names.difference_update(inside)
            if not where:
                points = project_out(points, inside)
        return self._number(insn, points, names, where)

    def _number(
        self, insn: Assigning, points: isl.Set, names: set[str], where: tuple[Expression, ...]
    ) -> Count:
        what = f"what '{insn.id}' does"
        return count_of(self._kernel, points, frozenset(names), what, where)

    # --- the grid

    @cached_property
    def _axes(self) -> Mapping[str, tuple[HardwareAxis, ...]]:
        """The grid on which each instruction runs."""
        found: dict[str, tuple[HardwareAxis, ...]] = {}
        if not any(isinstance(tag, GroupTag | LocalTag) for tag in self._plain.tags.values()):
            return found
        for launch in launches_in(lowered(self._kernel).host):
            for insn_id in carried_out(launch.body):
                found[insn_id] = launch.axes
        return found

    def _items(
        self, insn: Assigning, occurrence: Occurrence[_T]
    ) -> dict[int, tuple[str, Expression]]:
        """Return the inames on axes of the work items, each with its first value."""
        tags = {i: self._plain.tags.get(i) for i in occurrence.inames}
        found: dict[int, tuple[str, Expression]] = {}
        for iname, tag in sorted(tags.items()):
            if isinstance(tag, LocalTag):
                axes = self._axes.get(insn.id, ())
                firsts = {i: first for axis in axes for i, first in axis.inames}
                found[tag.axis] = (iname, firsts.get(iname, 0))
        return found

    def _repeated(self, insn: Assigning, occurrence: Occurrence[_T]) -> Iterator[HardwareAxis]:
        """Yield the axes along which all work items, or groups, do the same."""
        own = {self._plain.tags.get(i) for i in occurrence.inames}
        spaces = {self._plain.address_space(name) for name in insn.written_names}
        reduces = occurrence.inames != insn.within_inames  # in private variables
        for axis in self._axes.get(insn.id, ()):
            if axis.tag in own:
                continue
            if (
                reduces
                or AddressSpace.PRIVATE in spaces
                or (AddressSpace.LOCAL in spaces and isinstance(axis.tag, GroupTag))
            ):
                yield axis

    def _name(self, tag: HardwareTag) -> str:
        return self._plain.new_name(f"index_{tag}".replace(".", "_"))

    def _range(self, insn: Assigning, name: str, size: Expression, what: str) -> isl.Set:
        index = ex.Variable(name)
        inside = ex.LogicalAnd((ex.Comparison(0, "<=", index), ex.Comparison(index, "<", size)))
        found = condition_set(inside)
        if found is None:
            raise not_countable(self._plain, insn, what, "the size of its grid is no affine number")
        return found

    def _in_subgroups(
        self,
        insn: Assigning,
        points: isl.Set,
        names: set[str],
        items: Mapping[int, tuple[str, Expression]],
    ) -> tuple[isl.Set, set[str]]:
        """Return the points with the number of the sub-group, unless there is one at most."""
        axes = self._sizes_of_items(insn) if items else {}
        together = prod(axes.values())
        if together == 1:
            return points, names
        if self._subgroup_size is None:
            raise InvalidArgument(
                f"how many work items a sub-group has was not said, and '{insn.id}' is executed by "
                f"groups of {together}",
                where=caller_location(),
                remedy='pass subgroup_size=32, or what the device has; or "guess"',
            )
        if together <= self._subgroup_size:
            return points, names
        strides = {axis: prod(axes[n] for n in axes if n < axis) for axis in axes}
        name = self._plain.new_name("subgroup")
        offset = ex.sum_of(
            *(
                ex.product_of(strides[axis], ex.sum_of(ex.Variable(iname), ex.negated(first)))
                for axis, (iname, first) in items.items()
            )
        )
        rest = ex.sum_of(offset, ex.product_of(-self._subgroup_size, ex.Variable(name)))
        bounds = (ex.Comparison(rest, ">=", 0), ex.Comparison(rest, "<", self._subgroup_size))
        found = [condition_set(bound) for bound in bounds]
        inside = reduce(intersection, [f for f in found if f is not None], universe())
        return intersection(points, inside), {*names, name}

    def _sizes_of_items(self, insn: Assigning) -> dict[int, int]:
        """Return the number of work items along each axis of the groups."""
        found: dict[int, int] = {}
        for axis in self._axes.get(insn.id, ()):
            if isinstance(axis.tag, LocalTag):
                assert isinstance(axis.size, int)  # lowering refuses others
                found[axis.tag.axis] = axis.size
        return found


def carried_out(block: Block) -> Iterator[str]:
    """Yield the instructions that a block carries out."""
    for node in block:
        if isinstance(node, Loop | If):
            yield from carried_out(node.body)
        elif insn_id := getattr(node, "insn_id", ""):
            yield insn_id
