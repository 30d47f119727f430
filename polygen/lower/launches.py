"""The grid of a launch, and which launches a loop tree becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode
from polygen.errors import GridSizeNotKnown, LocalSizeNotConstant
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import intersection, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.lower.bounds import Bounds, constant_bounds, loop_bounds


@dataclass(frozen=True)
class Axis:
    """An axis of the grid while statements are being written.

    Attributes:
        inames: each iname on the axis with its first value; the first iname stands for the axis.
    """

    tag: HardwareTag
    size: Expression
    inames: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Grid:
    """The axes of a launch, and what is known because of them."""

    axes: tuple[Axis, ...]
    known: isl.Set

    @property
    def owners(self) -> Mapping[HardwareTag, tuple[str, Expression]]:
        """For each axis, the iname that stands for it, and its first value."""
        return {axis.tag: axis.inames[0] for axis in self.axes}

    @property
    def values(self) -> Mapping[str, Expression]:
        """The value of each further iname of an axis, in terms of the one that stands for it."""
        found: dict[str, Expression] = {}
        for axis in self.axes:
            (owner, first), *others = axis.inames
            for iname, own in others:
                found[iname] = ex.sum_of(ex.Variable(owner), ex.negated(first), own)
        return found


def grid_of(
    kernel: Kernel, insns: Sequence[Assigning], outer: Sequence[str], known: isl.Set
) -> Grid:
    """Return the grid on which the instructions run.

    Parameters:
        insns: the instructions of one launch.
        outer: the inames of the loops on the host around it.
        known: what is known of the parameters and of these inames.

    Raises:
        LocalSizeNotConstant: if a group has no constant number of work items.
        GridSizeNotKnown: if the size depends on what the kernel computes.
    """
    within = NO_NAMES.union(*(insn.within_inames for insn in insns))
    tags: dict[HardwareTag, list[str]] = {}
    for iname in kernel.inames:
        tag = kernel.tags.get(iname)
        if iname in within and isinstance(tag, GroupTag | LocalTag):
            tags.setdefault(tag, []).append(iname)
    axes: list[Axis] = []
    held = [known]
    for tag in sorted(tags, key=str):
        bounds = {i: _bounds(kernel, i, outer, known) for i in tags[tag]}
        axis = _axis(kernel, tag, bounds, insns)
        if axis.size == 0 and isinstance(tag, LocalTag):
            axis = replace(axis, size=1)  # no group is of nobody
        if not _covers(axis, insns, known):
            axis = replace(axis, size=_join((1, axis.size)))
        axes.append(axis)
        for iname, found in bounds.items():
            held.append(_held(iname, found, exact=found.count == axis.size))
    return Grid(tuple(axes), _in_all(held))


def _in_all(sets: Sequence[isl.Set]) -> isl.Set:
    """Return what is in all sets: small ones with small ones, for many have many names."""
    while len(sets) > 1:
        pairs = zip(sets[::2], sets[1::2], strict=False)
        rest = sets[-1:] if len(sets) % 2 else ()
        sets = [*(intersection(a, b) for a, b in pairs), *rest]
    return sets[0]


def _bounds(kernel: Kernel, iname: str, outer: Sequence[str], known: isl.Set) -> Bounds:
    around = with_surrounding(kernel, (iname,))
    values = domain_of(kernel, around)
    values = project_out(values, sorted(around - {iname} - frozenset(outer)))
    is_local = isinstance(kernel.tags[iname], LocalTag)
    # As many work items as there ever are; but no groups that would have nothing to do.
    found = loop_bounds(iname, values, known, constant_first=True, exact=not is_local)
    if is_local and not isinstance(found.count, int):
        found = constant_bounds(iname, values) or found
    names = walk.free_variables(found.lower) | walk.free_variables(found.upper)
    for name in sorted(names):
        if isinstance(kernel.variables.get(name), TemporaryVariable):
            raise GridSizeNotKnown(
                f"'{iname}' is tagged {kernel.tags[iname]}, but how many values it has depends on "
                f"'{name}', which the kernel computes",
                where=kernel.location,
                remedy=f"leave '{iname}' a loop, or compute '{name}' in an earlier kernel and "
                "pass it as an argument",
            )
    return found


def _axis(
    kernel: Kernel, tag: HardwareTag, bounds: Mapping[str, Bounds], insns: Sequence[Assigning]
) -> Axis:
    counts = tuple(dict.fromkeys(found.count for found in bounds.values()))
    if isinstance(tag, LocalTag) and not all(isinstance(count, int) for count in counts):
        _refuse_local_size(kernel, tag, bounds, insns)
    return Axis(tag, _join(counts), tuple((i, found.lower) for i, found in bounds.items()))


def _join(counts: tuple[Expression, ...]) -> Expression:
    constants = [count for count in counts if isinstance(count, int)]
    if len(constants) == len(counts):
        return max(constants)
    return counts[0] if len(counts) == 1 else ex.Max(counts)


def _covers(axis: Axis, insns: Sequence[Assigning], known: isl.Set) -> bool:
    """Tell whether every instruction has an index on the axis, those without an iname there too."""
    on_axis = {iname for iname, _ in axis.inames}
    if not any(on_axis.isdisjoint(insn.within_inames) for insn in insns):
        return True
    some = condition_set(ex.Comparison(axis.size, ">=", 1))
    return some is not None and known.is_subset(some)


def _refuse_local_size(
    kernel: Kernel, tag: HardwareTag, bounds: Mapping[str, Bounds], insns: Sequence[Assigning]
) -> None:
    iname = next(i for i, found in bounds.items() if not isinstance(found.count, int))
    concerned = [insn for insn in insns if iname in insn.within_inames]
    raise LocalSizeNotConstant(
        f"'{iname}' is tagged {tag}, but its number of values is not a constant",
        where=concerned[0].location,
        excerpt=excerpt(kernel, *(insn.id for insn in concerned)),
        remedy=f"split '{iname}' by a constant and tag the inner part, or fix the parameters",
    )


def _held(iname: str, bounds: Bounds, *, exact: bool) -> isl.Set:
    """Return what the hardware guarantees of an iname: its range if the axis has just its size."""
    if exact and bounds.step == 1:
        return bounds.held
    lower = condition_set(ex.Comparison(ex.Variable(iname), ">=", bounds.lower))
    return isl.Set("{ : }") if lower is None else lower


# --- launches


def has_global_barrier(node: TreeNode) -> bool:
    """Tell whether everyone waits for everyone at `node` or inside it: calls of libraries wait."""
    if isinstance(node, LoopNode):
        return any(has_global_barrier(child) for child in node.children)
    return (isinstance(node, BarrierNode) and node.everyone) or isinstance(node, LibraryCall)


def host_parts(nodes: Sequence[TreeNode]) -> Iterator[LoopNode | tuple[TreeNode, ...]]:
    """Yield, in order, the loops that run on the host, and what makes up a launch."""
    launch: list[TreeNode] = []
    for node in nodes:
        if not has_global_barrier(node):
            launch.append(node)
            continue
        if launch:
            yield tuple(launch)
            launch = []
        if isinstance(node, LoopNode):
            yield node
        elif isinstance(node, LibraryCall):  # which is a launch of its own
            yield (node,)
    if launch:
        yield tuple(launch)


def host_loops(nodes: Sequence[TreeNode]) -> frozenset[str]:
    """Return the inames of the loops in which the whole grid waits: they run on the host."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, LoopNode) and has_global_barrier(node):
            found |= {node.iname} | host_loops(node.children)
    return frozenset(found)
