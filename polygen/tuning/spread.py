"""Loops beside reductions that are shared: on the axes of the grid, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from polygen.errors import UserError
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag, is_parallel
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.memory_order import along_memory
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.transforms.splitting.join_inames import join_inames
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import Order, order_of, side_by_side
from polygen.tuning.shares import Device, device_of, in_turns, lanes_along
from polygen.tuning.time_steps import is_time_step

_THREADS, _WIDTH = 256, 32
_AXES = 3
_FEW = 256  # iterations that one work item may as well do


def spread(
    kernel: Kernel, units: int, tell: Callable[[str, str], None], threads: int = _THREADS
) -> Kernel:
    """Return the kernel with element-wise loops on axes, as far as that is legal.

    Where a launch has work items, what is on no axis is done by one of them.

    Parameters:
        kernel: the kernel.
        units: how many compute units the device has.
        tell: is told which instructions have to stay as they are, and why.
        threads: how many work items a group has.
    """
    nests = {ids: _free(kernel, ids[0]) for ids in _nests(kernel)}
    orders = {ids: order_of(kernel, ids, free) for ids, free in nests.items() if free}
    # Nests of groups of one shape share a launch.
    tiles = any(order.across is not None for order in orders.values())
    in_tiles = tiles or _has_tiles(kernel)
    device = device_of(kernel, units, threads)
    lanes = _lanes_of(kernel, orders, device)
    for ids, free in nests.items():
        if free:
            try:
                alike = in_tiles and (tiles or not _needs_a_result(kernel, ids))
                kernel = _spread(kernel, ids, free, orders[ids], device, lanes, in_tiles=alike)
            except UserError as error:  # iterations need each other, say
                if _iterations(kernel, free) > _FEW:
                    tell(" and ".join(f"'{name}'" for name in ids), error.what)
    return kernel


def _has_tiles(kernel: Kernel) -> bool:
    """Tell whether groups of reductions have as many rows and columns of items as tiles have."""
    extents = {
        tag: likely_extent(kernel, i) for i, tag in kernel.tags.items() if isinstance(tag, LocalTag)
    }
    return (extents.get(LocalTag(0)), extents.get(LocalTag(1))) == (_WIDTH, _THREADS // _WIDTH)


def _needs_a_result(kernel: Kernel, ids: Sequence[str]) -> bool:
    """Tell whether instructions read what a reduction writes: in a launch before theirs."""
    read = NO_NAMES.union(*(kernel.instruction(name).read_names for name in ids))
    return any(insn.reductions for name in read for insn in kernel.writers.get(name, ()))


def _nests(kernel: Kernel) -> Iterator[tuple[str, ...]]:
    """Yield instructions without reductions.

    Those that use each other's scalars are together, and those that cannot be in two loops: some of
    one come before, and some behind, what is in the other.
    """
    found: list[tuple[set[str], list[Assigning]]] = []
    scalars = {t.name for t in kernel.temporaries if not t.shape}
    for insn in kernel.instructions:
        if insn.reductions or not isinstance(insn, Assigning):
            continue
        touched = scalars.intersection((*insn.read_names, *insn.written_names))
        insns = [insn]
        for other in [one for one in found if not touched.isdisjoint(one[0])]:
            if other[1][0].within_inames == insn.within_inames:
                found.remove(other)
                touched |= other[0]
                insns = [*other[1], *insns]
        found.append((touched, insns))
    for together in _in_one_loop(kernel, [insns for _, insns in found]):
        yield tuple([insn.id for insn in together])


def _in_one_loop(
    kernel: Kernel, groups: Sequence[list[Assigning]]
) -> Sequence[Sequence[Assigning]]:
    """Return groups, those joined that come before and behind each other in the same loops."""
    if not any(isinstance(insn, CInstruction) for insn in kernel.instructions):
        return groups  # assignments are in loops of their own by what they touch
    before: dict[str, set[str]] = {}
    for insn in kernel.instructions:
        direct = insn.depends_on
        before[insn.id] = set(direct).union(*(before.get(name, ()) for name in direct))
    position = {insn.id: number for number, insn in enumerate(kernel.instructions)}
    found: list[list[Assigning]] = []
    for group in groups:
        joined = list(group)
        for other in [one for one in found if _are_entangled(one, group, before)]:
            found.remove(other)
            joined += other
        found.append(sorted(joined, key=lambda insn: position[insn.id]))
    return found


def _are_entangled(
    one: Sequence[Assigning], other: Sequence[Assigning], before: Mapping[str, set[str]]
) -> bool:
    if one[0].within_inames != other[0].within_inames:
        return False
    ids, others = {insn.id for insn in one}, {insn.id for insn in other}
    return any(not others.isdisjoint(before[name]) for name in ids) and any(
        not ids.isdisjoint(before[name]) for name in others
    )


def _free(kernel: Kernel, name: str) -> list[str]:
    within = kernel.instruction(name).within_inames
    loops = [i for i in kernel.inames if i in within and not is_time_step(kernel, i)]
    return [i for i in loops if not is_parallel(kernel.tags.get(i))]


def _lanes_of(
    kernel: Kernel, orders: Mapping[tuple[str, ...], Order], device: Device
) -> dict[tuple[str, ...], int]:
    """Return how many neighbours a work item has at once, in nests that are no tiles.

    It is the same in nests over the same ranges that use an array in common: then an item has the
    same elements in all of these, and reads them once.
    """
    found: dict[tuple[str, ...], int] = {}
    groups: list[tuple[tuple[int, ...], set[str], list[tuple[str, ...]]]] = []
    for ids, order in orders.items():
        lanes = 1
        if order.across is None and _are_constant(kernel, order.loops):
            lanes = lanes_along(kernel, ids, order.loops, order.loops[-1], device)
        if lanes == 1:
            continue
        found[ids] = lanes
        extents = tuple([likely_extent(kernel, iname) for iname in order.loops])
        used, members = side_by_side(kernel, ids, order), [ids]
        for group in [g for g in groups if g[0] == extents and not used.isdisjoint(g[1])]:
            groups.remove(group)
            used, members = used | group[1], [*group[2], *members]
        groups.append((extents, used, members))
    for _, _, members in groups:
        found.update(dict.fromkeys(members, min(found[ids] for ids in members)))
    return found


def _iterations(kernel: Kernel, inames: Sequence[str]) -> int:
    count = 1
    for iname in inames:
        count *= likely_extent(kernel, iname)
    return count


def _spread(
    kernel: Kernel,
    ids: tuple[str, ...],
    free: list[str],
    order: Order,
    device: Device,
    lanes: Mapping[tuple[str, ...], int],
    *,
    in_tiles: bool,
) -> Kernel:
    insn = kernel.instruction(ids[0])
    if len(free) < len([i for i in insn.within_inames if not is_time_step(kernel, i)]):
        return _beside_others(kernel, insn, ids, free)
    if order.across is not None:
        return _in_tiles(kernel, ids, order, device)
    return _in_rows(kernel, ids, order, device, lanes.get(ids, 1), in_tiles=in_tiles)


def _within(ids: Sequence[str]) -> str:
    return " or ".join(f"id:{name}" for name in ids)


def _in_rows(
    kernel: Kernel,
    ids: tuple[str, ...],
    order: Order,
    device: Device,
    lanes: int,
    *,
    in_tiles: bool,
) -> Kernel:
    """Return the kernel with one loop of all, which groups of items go along."""
    if not _are_constant(kernel, order.loops):
        return _on_several_axes(kernel, ids, order.loops, device.threads)
    (*outer, near) = order.loops
    turns = in_turns(kernel, order.loops, device) if lanes == 1 else 1
    if lanes > 1:
        kernel, near = _split(kernel, ids, near, lanes, None, "vec")
    kernel, near = _joined(kernel, ids, [*outer, near])
    groups, items = kernel.new_name(f"{near}_outer"), kernel.new_name(f"{near}_items")
    kernel = split_iname(
        kernel,
        near,
        device.threads,
        outer_iname=groups,
        inner_iname=items,
        outer_tag=None if turns > 1 else "g.0",
        inner_tag=None if in_tiles else "l.0",
        within=_within(ids),
    )
    if in_tiles:
        kernel = _split(kernel, ids, items, _WIDTH, "l.1", "l.0")[0]
    return _split(kernel, ids, groups, turns, "g.0", "unr")[0] if turns > 1 else kernel


def _in_tiles(kernel: Kernel, ids: tuple[str, ...], order: Order, device: Device) -> Kernel:
    """Return the kernel with groups that have a tile of two loops."""
    assert order.across is not None
    (*outer, near) = order.loops
    width = min(_WIDTH, 1 << (likely_extent(kernel, near) - 1).bit_length())
    lanes = lanes_along(kernel, ids, order.loops, order.across, device)
    turns = in_turns(kernel, order.loops, device) if lanes == 1 else 1
    rows = order.across
    kernel, columns = _split(kernel, ids, near, width, None, "l.0")
    if lanes * turns > 1:
        kernel, rows = _split(kernel, ids, rows, lanes * turns, None, "vec" if lanes > 1 else "unr")
    kernel, rows = _split(kernel, ids, rows, device.threads // width, None, "l.1")
    loops = [rows if iname == order.across else iname for iname in outer]
    loops = [*loops, columns]
    if not _are_constant(kernel, loops):
        return _tagged(kernel, loops)
    kernel, groups = _joined(kernel, ids, loops)
    return tag_inames(kernel, {groups: "g.0"})


def _on_several_axes(
    kernel: Kernel, ids: tuple[str, ...], loops: Sequence[str], threads: int
) -> Kernel:
    """Return the kernel with groups along axes of their own: sizes are not known."""
    (*outer, run) = along_memory(kernel, ids[0], loops)
    kernel, near = _joined(kernel, ids, run)
    kernel, groups = _split(kernel, ids, near, threads, None, "l.0")
    return _tagged(kernel, [*(iname for each in outer for iname in each), groups])


def _tagged(kernel: Kernel, loops: Sequence[str]) -> Kernel:
    """Return the kernel with loops on axes of groups, the last one on the first."""
    tags = zip(reversed(loops), range(_AXES), strict=False)
    return tag_inames(kernel, {iname: f"g.{axis}" for iname, axis in tags})


def _are_constant(kernel: Kernel, inames: Sequence[str]) -> bool:
    """Tell whether the ranges of inames are numbers: then one loop of them is a cheap one."""
    return not any(d.parameters for d in kernel.domains if not set(inames).isdisjoint(d.inames))


def _joined(kernel: Kernel, ids: Sequence[str], loops: Sequence[str]) -> tuple[Kernel, str]:
    if len(loops) == 1:
        return kernel, loops[0]
    name = kernel.new_name("_".join(loops))
    return join_inames(kernel, loops, new_iname=name, within=_within(ids)), name


def _split(
    kernel: Kernel,
    ids: Sequence[str],
    iname: str,
    length: int,
    outer_tag: str | None,
    inner_tag: str,
) -> tuple[Kernel, str]:
    """Return the kernel with a divided loop, and the outer part."""
    outer, inner = kernel.new_name(f"{iname}_outer"), kernel.new_name(f"{iname}_inner")
    kernel = split_iname(
        kernel,
        iname,
        length,
        outer_iname=outer,
        inner_iname=inner,
        outer_tag=outer_tag,
        inner_tag=inner_tag,
        within=_within(ids),
    )
    return kernel, outer


def _beside_others(
    kernel: Kernel, insn: Instruction, ids: tuple[str, ...], free: list[str]
) -> Kernel:
    """Return the kernel with what groups of a reduction do besides on their work items."""
    items = _axes_without(kernel, insn, LocalTag)
    if len(items) < _AXES:  # it is on work items already
        return kernel
    (*_, run) = along_memory(kernel, insn.id, free)
    kernel, near = _joined(kernel, ids, run)
    return _split(kernel, ids, near, _beside(kernel, insn, items[0]), None, f"l.{items[0]}")[0]


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
