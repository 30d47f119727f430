"""Shares launches between nests: groups of the same shape, that do not need each other.

A launch has groups of one shape, large enough for all that is in it.  Nests of 256 x 1 and of
32 x 8 work items in one launch would have groups of 256 x 8, of which most items idle, or more than
a device has.  So a barrier for everyone stands between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import SupportsIndex

from polygen.errors import (
    CannotProve,
    DependencyCycle,
    IllegalStep,
    NoLoopNest,
    NotCountable,
    TagConflict,
)
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Barrier, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reached import reached
from polygen.ir.tags import GroupTag, LocalTag
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.instructions.add_barrier import add_barrier
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.tuning.time_steps import is_time_step, results_of, time_steps_of
from polygen.tuning.work import points

_LIGHT = 1 << 16  # instances: so few may as well run in groups that are larger than needed
_FEW_GROUPS, _MANY_GROUPS = 16, 256
_AGAIN = 1 << 19  # elements: so many groups reduce again sooner than a launch begins
_MOST_ITEMS = 1024  # of a group, that are as many only for what shares its launch
_Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Unit:
    """Instructions that have to be in one launch.

    Attributes:
        ids: theirs.
        shape: how many work items their groups have along each axis.
        groups: how many groups there are along each axis.
        count: how often the one that is executed most is executed.
        before: the ids of the instructions that they depend on.
        repeats: whether all groups of its launch do some of it, each the same.
        shared: the ids of others that have to be over before, since they touch what it touches.
    """

    ids: tuple[str, ...]
    shape: _Shape
    groups: _Shape
    count: int
    before: frozenset[str]
    repeats: bool
    shared: frozenset[str] = NO_NAMES


def joined(units: Sequence[Unit]) -> Unit:
    """Return what has all that some units have."""
    ids = tuple([name for unit in units for name in unit.ids])
    return Unit(
        ids,
        _largest([unit.shape for unit in units]),
        _largest([unit.groups for unit in units]),
        max(unit.count for unit in units),
        NO_NAMES.union(*(unit.before for unit in units)).difference(ids),
        any(unit.repeats for unit in units),
        NO_NAMES.union(*(unit.shared for unit in units)).difference(ids),
    )


def _largest(shapes: Sequence[_Shape]) -> _Shape:
    first, second, third = zip(*shapes, strict=True)
    return max(first), max(second), max(third)


def can_share(units: Sequence[Unit]) -> bool:
    """Tell whether groups of one launch may do all that some units have.

    They are as large as all of these need: for what is done often, as large as it needs.
    """
    together = joined(units)
    others = [unit for unit in units if unit.shape != together.shape]
    if others and prod(together.shape) > _MOST_ITEMS:
        return False
    if any(unit.count > _LIGHT for unit in others):
        return False
    return all(unit.groups[1:] == together.groups[1:] for unit in units)


def _fit(units: Sequence[Unit]) -> bool:
    """Tell whether units may share a launch, and its groups repeat little."""
    most = max(prod(unit.groups) for unit in units)
    again = most * sum(unit.count for unit in units if unit.repeats and prod(unit.groups) < most)
    is_little = most <= _FEW_GROUPS or (most <= _MANY_GROUPS and again <= _AGAIN)
    return (not again or is_little) and can_share(units)


def with_launches(kernel: Kernel, sizes: Mapping[str, SupportsIndex]) -> Kernel:
    """Return the kernel with barriers between nests whose groups have different shapes."""
    plain = kernel.expanded
    if any(isinstance(insn, Barrier) for insn in plain.instructions):
        return kernel
    if _are_alike(_without_circles(list(_found_units(plain, None)))):
        return kernel
    try:
        levels = list(_levels(plain, sizes))
    except NotCountable:
        return kernel
    new = kernel
    try:
        for beside in levels:
            launches = [] if _fit(beside) else _launches(beside)
            for first, second in pairwise(launches):
                new = add_barrier(new, _queries(first), _queries(second))
    except (CannotProve, DependencyCycle, IllegalStep, NoLoopNest):  # they share loops, say
        return kernel
    return new


def _levels(kernel: Kernel, sizes: Mapping[str, SupportsIndex]) -> Iterator[list[Unit]]:
    """Yield what stands side by side: loops of time as a whole, and what is in each of them."""
    inside: dict[frozenset[str], list[Unit]] = {}
    for unit in units_of(kernel, sizes):
        each = [time_steps_of(kernel, kernel.instruction(name)) for name in unit.ids]
        inside.setdefault(NO_NAMES.union(*each), []).append(unit)
    outer = inside.pop(NO_NAMES, [])
    wholes: list[tuple[frozenset[str], list[Unit]]] = []
    for steps, members in inside.items():
        around, beside = steps, list(members)
        for other in [one for one in wholes if not around.isdisjoint(one[0])]:
            wholes.remove(other)
            around, beside = around | other[0], [*other[1], *beside]
        wholes.append((around, beside))
    untagged = kernel.copy(
        tags={i: t for i, t in kernel.tags.items() if not is_time_step(kernel, i)}
    )
    for _, members in wholes:
        whole = joined(members)
        insns = map(untagged.instruction, whole.ids)
        outer.append(replace(whole, count=max(_count(untagged, insn, sizes) for insn in insns)))
    yield outer
    yield from inside.values()


def _are_alike(units: Sequence[Unit]) -> bool:
    """Tell whether units may share a launch, however often they are executed."""
    groups = {unit.groups for unit in units}
    repeats = len(groups) > 1 and any(unit.repeats for unit in units)
    return (
        not repeats
        and len({unit.shape for unit in units}) <= 1
        and len({axes[1:] for axes in groups}) <= 1
    )


def _queries(launch: Sequence[Unit]) -> list[str]:
    return [f"id:{name}" for unit in launch for name in unit.ids]


def on_first_axes(kernel: Kernel) -> Kernel:
    """Return the kernel with axes along which there is one group behind the others.

    So a result that several groups share has these along the first axis, as other nests do.
    """
    axes = {i: tag.axis for i, tag in kernel.tags.items() if isinstance(tag, GroupTag)}
    single = {iname for iname in axes if likely_extent(kernel, iname) == 1}
    new: dict[str, GroupTag] = {}
    for insn in kernel.instructions:
        around = [iname for iname in axes if iname in insn.within_inames]
        if not single.isdisjoint(around):
            order = sorted(around, key=lambda iname: (iname in single, axes[iname]))
            for axis, iname in enumerate(order):
                found = new.get(iname, GroupTag(axis))
                new[iname] = max(found, GroupTag(axis), key=lambda tag: tag.axis)
    changed = {iname: tag for iname, tag in new.items() if tag.axis != axes[iname]}
    try:
        return tag_inames(kernel, changed, force=True) if changed else kernel
    except TagConflict:  # one has them in another order
        return kernel


def units_of(kernel: Kernel, sizes: Mapping[str, SupportsIndex]) -> list[Unit]:
    """Return what shares loops, or memory that does not outlive a launch, or needs each other."""
    return _without_circles(list(_found_units(kernel, sizes)))


def _without_circles(units: Sequence[Unit]) -> list[Unit]:
    """Return the units, those joined that need each other."""
    owners = {name: place for place, unit in enumerate(units) for name in unit.ids}
    direct = {p: {owners[name] for name in unit.before} for p, unit in enumerate(units)}
    needs = [reached(place, direct) for place in direct]
    circles: dict[int, list[Unit]] = {}
    for place, unit in enumerate(units):
        first = min({place, *(other for other in needs[place] if place in needs[other])})
        circles.setdefault(first, []).append(unit)
    return [joined(circle) if len(circle) > 1 else circle[0] for circle in circles.values()]


def _found_units(kernel: Kernel, sizes: Mapping[str, SupportsIndex] | None) -> Iterator[Unit]:
    """Yield what shares loops or memory; without sizes, nothing is counted."""
    found: list[tuple[set[str], list[Instruction]]] = []
    own = {
        t.name
        for t in kernel.temporaries
        if kernel.address_space(t.name) is not AddressSpace.GLOBAL and not t.read_only
    }
    for insn in kernel.instructions:
        touched = insn.read_names.union(insn.written_names).intersection(kernel.writers)
        # What is in no loop, one work item does; it finds what it wrote.
        loops = {i for i in results_of(kernel, insn) if likely_extent(kernel, i) != 1}
        mine = {*loops, *(own.intersection(touched) if loops else touched)}
        insns = [insn]
        for other in [one for one in found if not mine.isdisjoint(one[0])]:
            found.remove(other)
            mine |= other[0]
            insns = [*other[1], *insns]
        found.append((mine, insns))
    needed = _needed(kernel)
    for _, insns in found:
        ids = tuple([insn.id for insn in insns])
        inames = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in insns))
        count = 0 if sizes is None else max(_count(kernel, insn, sizes) for insn in insns)
        before = NO_NAMES.union(*(insn.depends_on for insn in insns)).difference(ids)
        shared = NO_NAMES.union(*(needed[insn.id] for insn in insns)).difference(ids)
        groups, items = (_shape(kernel, inames, kind) for kind in (GroupTag, LocalTag))
        repeats = any(_is_repeated(kernel, insn) for insn in insns)
        yield Unit(ids, items, groups, count, before, repeats, shared)


def _needed(kernel: Kernel) -> dict[str, frozenset[str]]:
    """Return what instructions come after that touch what they touch, and one of both writes."""
    after = {insn.id: insn.depends_on for insn in kernel.instructions}
    touched: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for insn in kernel.instructions:
        written = frozenset(insn.written_names)
        touched[insn.id] = written, written.union(insn.read_names)

    def clash(one: str, other: str) -> bool:
        (writes, touches), (others_writes, others) = touched[one], touched[other]
        return not (writes.isdisjoint(others) and touches.isdisjoint(others_writes))

    return {
        name: frozenset([other for other in reached(name, after) if clash(name, other)])
        for name in after
    }


def _count(kernel: Kernel, insn: Instruction, sizes: Mapping[str, SupportsIndex]) -> int:
    return points(kernel, insn.within_inames | insn.reduction_inames, sizes)


def _is_repeated(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether an instruction is for the work items of a group, whichever that is."""
    inames = insn.within_inames | insn.reduction_inames
    tags = {type(kernel.tags.get(iname)) for iname in inames}
    return LocalTag in tags and GroupTag not in tags


def _size(unit: Unit) -> tuple[int, int]:
    return unit.count, prod(unit.shape)


def _shape(kernel: Kernel, inames: frozenset[str], kind: type[GroupTag | LocalTag]) -> _Shape:
    sizes = [1, 1, 1]
    for iname in inames:
        tag = kernel.tags.get(iname)
        if isinstance(tag, kind):
            sizes[tag.axis] = max(sizes[tag.axis], likely_extent(kernel, iname))
    return sizes[0], sizes[1], sizes[2]


def _launches(units: list[Unit]) -> list[list[Unit]]:
    """Return what runs together, in order: each launch has what takes most, and what fits."""
    found: list[list[Unit]] = []
    waiting: list[Unit] = [*units]
    while waiting:
        launch: list[Unit] = [max([u for u in waiting if _is_ready(u, waiting)], key=_size)]
        while more := [u for u in waiting if u not in launch and _may_join(u, launch, waiting)]:
            launch.append(max(more, key=_size))
        found.append([unit for unit in waiting if unit in launch])
        waiting = _without(waiting, launch)
    while (fewer := _fewer(found)) is not None:
        found = fewer
    return found


def _without(units: Sequence[Unit], gone: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit not in gone]


def _is_ready(unit: Unit, waiting: Sequence[Unit], launch: Sequence[Unit] = ()) -> bool:
    """Tell whether all that a unit comes after is in earlier launches, or in one with it."""
    return not any(
        not unit.before.isdisjoint(other.ids)
        for other in waiting
        if other is not unit and other not in launch
    )


def _may_join(unit: Unit, launch: Sequence[Unit], waiting: Sequence[Unit]) -> bool:
    """Tell whether a unit may be in a launch with others."""
    if not all(unit.shared.isdisjoint(other.ids) for other in launch):
        return False
    return _is_ready(unit, waiting, launch) and _fit([*launch, unit])


def _fewer(launches: Sequence[Sequence[Unit]]) -> list[list[Unit]] | None:
    """Return the launches without one, whose units others have room for; None if there is none."""
    for gone, launch in enumerate(launches):
        new = [[] if place == gone else list(units) for place, units in enumerate(launches)]
        if all(_is_moved(unit, gone, new) for unit in launch):
            return [units for units in new if units]
    return None


def _is_moved(unit: Unit, gone: int, launches: Sequence[list[Unit]]) -> bool:
    """Add a unit to a launch behind all that it needs, before all that needs it, if it fits."""
    needed = [p for p, units in enumerate(launches) for u in units if unit.before & {*u.ids}]
    needing = [p for p, units in enumerate(launches) for u in units if u.before & {*unit.ids}]
    for place in range(max(needed, default=-1) + 1, min(needing, default=len(launches))):
        if place != gone and _fit([*launches[place], unit]):
            launches[place].append(unit)
            return True
    return False
