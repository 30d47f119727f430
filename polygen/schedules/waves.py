"""Schedules nests in which each loop carries a dependence: tiles, those of a wave at once.

for t: for i: a[i] = a[i-1] + a[i+1]

Neither loop is parallel.  `find_schedule` asks isl for loops that may be tiled; the tiles on a
diagonal do not need each other.
"""

from __future__ import annotations

from functools import partial

from polygen.inspection.order.find_schedule import find_schedule
from polygen.ir.kernel import Kernel
from polygen.recipes import apply
from polygen.schedules.nests import Extents, Nest, is_mapped, nests_of
from polygen.schedules.parallel_loops import shown_parallel
from polygen.schedules.plan import Plan

_WORTH_IT = 1 << 20  # operations: waves begin and end with few tiles
_TILES = 32, 64, 128, 16  # the usual extent first, and those to measure
_DEEP = 2  # loops: one alone has no diagonal


def in_waves(plan: Plan) -> None:
    """Let threads share the tiles of a wave, where a kernel is one nest without parallel loops."""
    nests = nests_of(plan.kernel)
    if plan.request.units < 2 or any(is_mapped(plan.kernel, nest) for nest in nests):
        return
    extents = Extents(plan.kernel, plan.request.sizes)
    heavy = [nest for nest in nests if extents.work(nest) >= _WORTH_IT and _is_deep(nest)]
    shown = shown_parallel(plan.kernel)
    if all(nest.loops[0] in shown for nest in heavy):
        return
    ids = [name for nest in heavy for name in nest.ids]
    labels = (*(f"of {size}" for size in _TILES), "none")
    picked = plan.pick(f"tiles in waves, {', '.join(ids)}", labels, sum(map(extents.work, heavy)))
    if picked == len(_TILES):
        return
    plan.take(
        ids,
        "tiles in waves",
        f"no loop is parallel, and there is work for {plan.request.units} threads",
        partial(_tiled_in_waves, size=_TILES[picked]),
    )


def _tiled_in_waves(kernel: Kernel, size: int) -> Kernel:
    steps = find_schedule(kernel, size)
    return apply(kernel, steps) if any(name == "wavefront" for name, _ in steps) else kernel


def _is_deep(nest: Nest) -> bool:
    return len(nest.inames) >= _DEEP
