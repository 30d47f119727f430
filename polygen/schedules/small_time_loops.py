"""Runs loops of time over small arrays in one group of work items, which waits between steps.

    for t:                                 one launch:    for t:
        for i: b[i] = f(a[i-1], a[i+1])                       work items: b[i] = ...
        for p: a[p] = f(b[p-1], b[p+1])                       barrier
                                                              work items: a[p] = ...
                                                              barrier

On a grid, each nest of each step is a launch, which takes a microsecond or more however small it
is.  A barrier in one group takes a twentieth of that, and arrays stay in the cache of its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import OpenEnd
from polygen.schedules.nests import Extents, Nest, nests_of, weight_of
from polygen.schedules.parallel_loops import may_be_on_axes, shown_parallel
from polygen.schedules.plan import Plan
from polygen.schedules.time_tiles import bytes_of_step
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import Order, order_of, shared_uses

_LEAST_STEPS = 4
_WIDTHS = 32, 16, 64, 128, 256, 512, 1024  # of rows of work items: the usual number first
_BARRIER = 0.25  # of the latency of memory: the cache of a unit, and a barrier
_LINE, _LANES, _CLOCK = 128, 128, 1.7e9  # bytes and operations a cycle of a unit; cycles a second
_AROUND = 20  # operations for the addresses and conditions of each element


@dataclass(frozen=True)
class _Small:
    """A loop of time over small arrays.

    Attributes:
        time: the loop.
        nests: the statements of each nest in it, and their loops, those along neighbours last.
        shape: how many work items a group has along the last two loops, the last one first.
    """

    time: str
    nests: tuple[tuple[tuple[str, ...], Order], ...]
    shape: tuple[int, int]


def small_time_loops(plan: Plan) -> None:
    """Run a loop of time in one group, where launches would take longer."""
    nests = nests_of(plan.kernel)
    found = _small(plan, nests[0]) if len(nests) == 1 else None
    if found is None:
        return
    alone, many = _seconds_alone(plan, found), _seconds_of_launches(plan, found)
    labels = ("one group", "launches") if alone < many else ("launches", "one group")
    work = Extents(plan.kernel, plan.request.sizes).work(nests[0])
    if labels[plan.pick(f"steps of '{found.time}'", labels, work)] == "launches":
        return
    across, down = found.shape
    plan.settle(
        nests[0].ids,
        f"one group of {across * down} work items, which goes through all steps of '{found.time}'",
        f"a step takes {1e6 * alone:.2g} us, its launches {1e6 * many:.2g}",
        partial(_in_one_group, found=found),
    )


# --- whether it is small


def _small(plan: Plan, nest: Nest) -> _Small | None:
    """Return the loop of time that a kernel is, with nothing but parallel loops in it."""
    kernel, time = plan.kernel, nest.loops[0]
    inner = _inner(plan, nest) if _is_plain(plan, nest) else []
    if not inner or _bytes(plan, nest) > plan.request.limits.local_bytes:
        return None
    shown = shown_parallel(kernel)
    orders = [(ids, order_of(kernel, ids, loops)) for loops, ids in inner]
    last = [order.loops[-2:] for _, order in orders]
    are_free = all(may_be_on_axes(kernel, iname, shown) for loops in last for iname in loops)
    if not are_free or may_be_on_axes(kernel, time, shown):
        return None
    extents = Extents(kernel, plan.request.sizes)
    return _Small(time, tuple(orders), _shape(plan, extents, last))


def _is_plain(plan: Plan, nest: Nest) -> bool:
    """Tell whether a nest is a whole kernel, which nobody mapped, and has some steps."""
    kernel = plan.kernel
    if Extents(kernel, plan.request.sizes).of(nest.loops[0]) < _LEAST_STEPS:
        return False
    if any(map(kernel.tags.get, nest.inames)) or not plan.settled.isdisjoint(nest.ids):
        return False
    if any(isinstance(size, OpenEnd) for size in kernel.derived_sizes):
        return False
    is_whole = set(nest.ids) == set(kernel.instructions_by_id)
    return is_whole and not any(insn.reductions for insn in nest.instructions)


def _inner(plan: Plan, nest: Nest) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the loops, and the statements, of each nest in a loop; nothing if there are others."""
    rows = nest.loops[1:]
    if nest.is_perfect:
        # If an iteration needs no other one, work items may as well go through the steps alone.
        return (
            [(rows, nest.ids)] if rows and not any(_stays_in(plan, nest, i) for i in rows) else []
        )
    if rows or len(nest.inner) < len(nest.body) or not all(n.is_perfect for n in nest.inner):
        return []
    return [(one.loops, one.ids) for one in nest.inner]


def _stays_in(plan: Plan, nest: Nest, iname: str) -> bool:
    """Tell whether the iterations of a loop use what the same ones of other steps write, alone."""
    uses = shared_uses(plan.kernel.expanded, nest.ids)
    written = {use.name for use in uses if use.is_write}
    own = ex.Variable(iname)
    return all(own in use.index for use in uses if use.name in written)


def _bytes(plan: Plan, nest: Nest) -> int:
    plain = plan.kernel.expanded
    extents = Extents(plan.kernel, plan.request.sizes)
    return bytes_of_step(plain, extents, shared_uses(plain, nest.ids), nest.loops[0])


def _shape(plan: Plan, extents: Extents, nests: Sequence[tuple[str, ...]]) -> tuple[int, int]:
    """Return the shape of a group in which fewest work items idle."""
    most = plan.request.limits.items_per_group
    if all(len(loops) == 1 for loops in nests):
        return most, 1
    widths = [width for width in _WIDTHS if width <= most]

    def passes(width: int) -> int:
        return sum(_passes(extents, loops, (width, most // width)) for loops in nests)

    width = min(widths, key=passes)
    return width, most // width


def _passes(extents: Extents, loops: Sequence[str], shape: tuple[int, int]) -> int:
    """Return how often all work items do something, until a nest is over."""
    near, *outer = [extents.of(iname) for iname in reversed(loops)]
    if not outer:
        return -(-near // (shape[0] * shape[1]))
    return -(-near // shape[0]) * -(-outer[0] // shape[1])


# --- what it takes


def _seconds_of_launches(plan: Plan, found: _Small) -> float:
    limits = plan.request.limits
    return len(found.nests) * (limits.launch_seconds + limits.latency_seconds)


def _seconds_alone(plan: Plan, found: _Small) -> float:
    """Return how long a step takes in one group."""
    kernel, limits = plan.kernel, plan.request.limits
    extents, plain = Extents(kernel, plan.request.sizes), kernel.expanded
    local = limits.local_bytes_per_second
    rate = local / plan.request.units if local else _LINE * _CLOCK
    seconds = 0.0
    for ids, order in found.nests:
        uses = shared_uses(plain, ids)
        weight = sum(_AROUND + weight_of(plain.instruction(name)) for name in ids)
        each = max(8 * len(uses) / rate, weight / (_LANES * _CLOCK))
        outer = extents.instances(order.loops[:-2])
        count = outer * _passes(extents, order.loops[-2:], found.shape)
        items = found.shape[0] * found.shape[1]
        seconds += _BARRIER * limits.latency_seconds + each * count * items
    return seconds


# --- the steps


def _in_one_group(kernel: Kernel, found: _Small) -> Kernel:
    kernel = tag_inames(kernel, {found.time: "for"})
    for ids, order in found.nests:
        within = " or ".join(f"id:{name}" for name in ids)
        across, down = found.shape
        *outer, near = order.loops
        if outer:
            kernel = _split(kernel, within, outer[-1], down, "l.1")[0]
            kernel = _split(kernel, within, near, across, "l.0")[0]
        elif down == 1:
            kernel = _split(kernel, within, near, across, "l.0")[0]
        else:
            kernel, items = _split(kernel, within, near, across * down, None)
            kernel = _split(kernel, within, items, across, "l.0", outer_tag="l.1")[0]
    return kernel


def _split(
    kernel: Kernel,
    within: str,
    iname: str,
    length: int,
    tag: str | None,
    outer_tag: str | None = None,
) -> tuple[Kernel, str]:
    """Return the kernel with a divided loop, and the inner part."""
    turn, item = kernel.new_name(f"{iname}_turn"), kernel.new_name(f"{iname}_item")
    kernel = split_iname(
        kernel,
        iname,
        length,
        outer_iname=turn,
        inner_iname=item,
        outer_tag=outer_tag,
        inner_tag=tag,
        within=within,
    )
    return kernel, item
