"""Lets groups go through several steps of time in local memory: tiles that overlap.

Each step of a loop of time moves its arrays through the memory, or through the cache that all
units share.  A group that has a tile of them in local memory goes through some steps before it
stores the tile again.  Neighbours of a tile are computed by several groups: where they are loaded,
a ring of them is missing after each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from polygen.errors import NoOverlappedTiles
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, nests_of
from polygen.schedules.parallel_loops import shown_parallel
from polygen.schedules.plan import Plan
from polygen.schedules.time_tiles import bytes_of_step
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.overlap_time_tiles import overlap_time_tiles
from polygen.transforms.splitting.overlapped_boxes import Box, Sides, box_of
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.transforms.splitting.time_sweeps import Sweep, TimeSweeps, sweeps_of
from polygen.tuning.neighbours import shared_uses

_ROWS = 4  # of a tile that a work item has at once
_ITEMS = 64, 8  # of a group, along rows and across
_LINE = 512, 1  # of arrays with one axis
_PLATES = (64, 64), (96, 64), (32, 64), (64, 128)  # elements of a tile in two axes
_LINES = (2048,), (4096,)
_STEPS = 4, 3, 2, 6
_LEAST_STEPS = 8
MEASURED = 6  # tiles that the model finds best
_GAIN = 0.9  # of the time of launches: if it takes less
_LEAST_SECONDS = 2e-3  # of launches: to choose tiles takes seconds
_REACHED = 0.75  # of the memory's rate, by short launches
_UNIT_RATE = 128 * 1.7e9  # bytes a second of a unit's local memory, if that is not known
_CACHED = 0.4  # of the cache that all units share: what stays there from launch to launch
_CACHE_RATE = 1.5  # of the memory's, at least
_ITEM = 8  # bytes of an element whose type is not known
_LATENCIES = 1.5  # of memory: at the beginning of a group, and at its end
_IN_FLIGHT = 4  # elements that a work item loads at once, of which each such number waits again
_BARRIER = 0.1  # of that latency
_IDLE = 0.5  # of the time of a group at work that no other one is there to fill
_UNIT_BYTES = 228 * 1024  # of local memory that groups of one unit share
_GROUP_BYTES = 1024  # that a group takes beside


@dataclass(frozen=True)
class _Tiles:
    """Tiles, and how long they take.

    Attributes:
        box: of a tile.
        seconds: for a step of time, on the whole device.
    """

    box: Box
    seconds: float


def time_in_overlapped_tiles(plan: Plan) -> None:
    """Let groups go through several steps of time, where that saves more than it costs."""
    shown: frozenset[str] | None = None
    for nest in nests_of(plan.kernel):
        if not _may_be_steps(plan, nest):
            continue
        shown = shown_parallel(plan.kernel) if shown is None else shown
        if nest.loops[0] in shown:
            continue
        many = _seconds_of_launches(plan, nest)
        steps = Extents(plan.kernel, plan.request.sizes).of(nest.loops[0])
        if many * steps < _LEAST_SECONDS:
            continue
        try:
            found = sweeps_of(plan.kernel, nest.loops[0])
        except NoOverlappedTiles:
            continue  # most nests are no loops of time
        if any(map(any, _ring(found))):  # else items may as well go through the steps alone
            _take_best(plan, nest, found, many)


def _take_best(plan: Plan, nest: Nest, found: TimeSweeps, many: float) -> None:
    """Take the tiles that the model finds best; none if launches take no longer."""
    tiles = sorted(candidates(plan, found), key=lambda each: each.seconds)[:MEASURED]
    if not tiles:
        return
    shown = [_label(each.box) for each in tiles]
    # The model of tiles is right of one array alone: three took 3.8 times as long (fdtd_2d, H200).
    is_faster = tiles[0].seconds < _GAIN * many and len(found.carried) == 1
    labels = [*shown, "none"] if is_faster else ["none", *shown]
    work = Extents(plan.kernel, plan.request.sizes).work(nest)
    label = labels[plan.pick(f"overlapped tiles of '{found.time}'", labels, work)]
    if label == "none":
        return
    best = tiles[shown.index(label)]
    before = plan.kernel
    plan.has_own_launches |= plan.take(
        nest.ids,
        f"overlapping tiles of {label} of '{found.time}'",
        f"a step takes {1e6 * best.seconds:.3g} us in local memory, else {1e6 * many:.3g}",
        partial(_in_tiles, found=found, box=best.box),
    )
    plan.settled |= plan.kernel.instructions_by_id.keys() - before.instructions_by_id.keys()


def _label(box: Box) -> str:
    return f"{' x '.join(map(str, box.extents))} elements and {box.steps} steps"


# --- whether it pays


def _may_be_steps(plan: Plan, nest: Nest) -> bool:
    """Tell whether a nest may be steps of time, which nobody mapped."""
    kernel = plan.kernel
    if Extents(kernel, plan.request.sizes).of(nest.loops[0]) < _LEAST_STEPS:
        return False
    if any(map(kernel.tags.get, nest.inames)) or not plan.settled.isdisjoint(nest.ids):
        return False
    deep = len(nest.inames) > 1
    return deep and not any(insn.reductions for insn in nest.instructions)


def _seconds_of_launches(plan: Plan, nest: Nest) -> float:
    """Return how long a step of time takes, if each statement is a launch."""
    kernel, time = plan.kernel, nest.loops[0]
    extents, plain = Extents(kernel, plan.request.sizes), kernel.expanded
    whole = bytes_of_step(plain, extents, shared_uses(plain, nest.ids), time)
    rate = _rate(plan, whole)
    seconds = 0.0
    for name in nest.ids:
        moved = bytes_of_step(plain, extents, shared_uses(plain, [name]), time)
        seconds += plan.request.limits.launch_seconds + moved / rate
    return seconds


def _rate(plan: Plan, whole: float) -> float:
    """Return how many bytes a second launches move, of arrays of a size."""
    limits = plan.request.limits
    if whole > _CACHED * limits.cache_bytes:
        return _REACHED * limits.bytes_per_second
    return limits.cache_bytes_per_second or _CACHE_RATE * limits.bytes_per_second


def candidates(plan: Plan, found: TimeSweeps) -> Iterator[_Tiles]:
    """Yield tiles that fit into local memory, of which at least a third is right in the end."""
    for extents in {1: _LINES, 2: _PLATES}.get(len(found.names), ()):
        points = [n - sum(ring) for n, ring in zip(extents, _ring(found), strict=True)]
        for steps in _STEPS:
            box = box_of(found, steps, points)
            fits = _local_bytes(plan, found, box) <= plan.request.limits.local_bytes
            if fits and min(box.stored) > 0 and 3 * prod(box.stored) >= prod(box.points):
                yield _Tiles(box, _seconds_of_tiles(plan, found, box))


def _ring(found: TimeSweeps) -> Sides:
    """Return how far sweeps reach, along each axis."""
    return box_of(found, 1, [1] * len(found.names)).ring


def _local_bytes(plan: Plan, found: TimeSweeps, box: Box) -> int:
    return sum(_item(plan, name) for name in found.written) * prod(box.extents)


def _item(plan: Plan, name: str) -> int:
    dtype = plan.kernel.array(name).dtype
    return _ITEM if dtype is None else int(to_dtype(dtype).itemsize)


def _seconds_of_tiles(plan: Plan, found: TimeSweeps, box: Box) -> float:
    """Return how long a step of time takes in tiles: moved, computed, and waited for."""
    limits, extents = plan.request.limits, Extents(plan.kernel, plan.request.sizes)
    whole = max(extents.instances(s.insn.within_inames - {found.time}) for s in found.sweeps)
    tiles = max(1.0, whole / prod(box.stored))
    carried = sum(_item(plan, name) for name in found.carried)
    each = carried * (prod(box.extents) + prod(box.stored))
    moving = tiles * each / _rate(plan, 2 * carried * whole)
    local = limits.local_bytes_per_second or _UNIT_RATE * plan.request.units
    touched = sum(_accesses(sweep) * _item(plan, sweep.array) for sweep in found.sweeps)
    computing = max(tiles, plan.request.units) * prod(box.points) * touched / local
    resident = _UNIT_BYTES // (_local_bytes(plan, found, box) + _GROUP_BYTES)
    resident = max(1, min(resident, limits.items_per_unit // prod(_ITEMS)))
    turns = max(1.0, tiles / (plan.request.units * resident))
    loads = len(found.carried) * prod(box.extents) / prod(_ITEMS) / _IN_FLIGHT
    waiting = _LATENCIES + loads + _BARRIER * box.steps * len(found.sweeps)
    waiting = turns * waiting * limits.latency_seconds + limits.launch_seconds
    return (moving + waiting) / box.steps + computing * (1 + _IDLE / resident)


def _accesses(sweep: Sweep) -> float:
    """Return how many elements of local memory an item touches for each element it computes."""
    touched = 1.0
    for apart in sweep.reads.values():
        rows: dict[tuple[int, ...], list[int]] = {}
        for first, *others in apart:
            rows.setdefault(tuple(others), []).append(first)
        for places in rows.values():
            touched += (_ROWS + max(places) - min(places)) / _ROWS
    return touched


# --- the steps


def _in_tiles(kernel: Kernel, found: TimeSweeps, box: Box) -> Kernel:
    known = kernel.instructions_by_id.keys()
    kernel = made = overlap_time_tiles(kernel, found.time, box.steps, box.points)
    axes, seen = len(box.points), set[tuple[str, ...]]()
    for insn in [insn for insn in made.instructions if insn.id not in known]:
        turn, *loops = [iname for iname in made.inames if iname in insn.within_inames]
        tiles, own = loops[:axes], tuple(loops[-axes:])
        tags = {turn: "for"} | {name: f"g.{axis}" for axis, name in enumerate(reversed(tiles))}
        if own not in seen:
            seen.add(own)
            kernel = _on_items(tag_inames(kernel, tags), own, is_sweep=len(loops) > 2 * axes)
    return kernel


def _on_items(kernel: Kernel, loops: Sequence[str], *, is_sweep: bool) -> Kernel:
    """Return the kernel with loops over elements of a tile on the work items of a group."""
    across, down = _ITEMS if len(loops) > 1 else _LINE
    *outer, near = loops
    if is_sweep:
        kernel = separate_full_tiles(kernel, loops)
    for iname in outer:
        groups = iname
        if is_sweep:
            kernel, groups = _split(kernel, iname, _ROWS, "unr")
        kernel = _split(kernel, groups, down, "l.1")[0]
    return _split(kernel, near, across, "l.0")[0]


def _split(kernel: Kernel, iname: str, length: int, tag: str) -> tuple[Kernel, str]:
    """Return the kernel with a divided loop, and the outer part."""
    turn, item = kernel.new_name(f"{iname}_turn"), kernel.new_name(f"{iname}_item")
    kernel = split_iname(kernel, iname, length, outer_iname=turn, inner_iname=item, inner_tag=tag)
    return kernel, turn
