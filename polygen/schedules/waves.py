"""Schedules nests in which each loop carries a dependence: tiles, those of a wave at once.

for t: for i: a[i] = a[i-1] + a[i+1]

Neither loop is parallel.  `find_schedule` asks isl for loops that may be tiled; the tiles on a
diagonal do not need each other.
"""

from __future__ import annotations

from polygen.inspection.order.find_schedule import find_schedule
from polygen.ir.kernel import Kernel
from polygen.recipes import apply
from polygen.schedules.nests import Extents, Nest, is_mapped, nests_of
from polygen.schedules.plan import Plan

_WORTH_IT = 1 << 20  # operations: waves begin and end with few tiles
_DEEP = 2  # loops: one alone has no diagonal


def in_waves(plan: Plan) -> None:
    """Let threads share the tiles of a wave, where a kernel is one nest without parallel loops."""
    nests = nests_of(plan.kernel)
    if plan.request.units < 2 or any(is_mapped(plan.kernel, nest) for nest in nests):
        return
    extents = Extents(plan.kernel, plan.request.sizes)
    heavy = [nest for nest in nests if extents.work(nest) >= _WORTH_IT and _is_deep(nest)]
    if not heavy:
        return
    plan.take(
        [name for nest in heavy for name in nest.ids],
        "tiles in waves",
        f"no loop is parallel, and there is work for {plan.request.units} threads",
        _tiled_in_waves,
    )


def _tiled_in_waves(kernel: Kernel) -> Kernel:
    steps = find_schedule(kernel)
    return apply(kernel, steps) if any(name == "wavefront" for name, _ in steps) else kernel


def _is_deep(nest: Nest) -> bool:
    return len(nest.inames) >= _DEEP
