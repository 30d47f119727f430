"""Fuses sibling nests: `for i: b[i] = ..` and `for j: c[j] = b[j]` become one loop.

What one nest writes and the other reads stays in a register, or in a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter

from polygen.ir.kernel import Kernel
from polygen.schedules.fused_traffic import Prices
from polygen.schedules.fusion_groups import Group, Grouping, Member
from polygen.schedules.nest_siblings import dependencies, families
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.transforms.fusion.fuse_loops import fuse_loops
from polygen.transforms.fusion.rename_inames import rename_inames
from polygen.tuning.direct_dependencies import with_direct_dependencies


def nests_fused(plan: Plan) -> None:
    """Fuse nests of each loop body, where that is legal, keeps loops parallel, and saves bytes."""
    found = list(families(plan.kernel))
    if not found:
        return
    prices = Prices(plan.kernel, Extents(plan.kernel, plan.request.sizes))
    for siblings in found:
        grouping = Grouping(plan.kernel, siblings, prices, has_caches=not plan.request.on_grid)
        joined = [group for group in grouping.groups if len(group.members) > 1]
        if joined and _is_circular(plan.kernel, grouping):
            plan.kernel = with_direct_dependencies(plan.kernel)
        for group in joined:
            _fuse(plan, group)
        for left in grouping.left:
            plan.leave(left.ids, "fused", left.why)


def _fuse(plan: Plan, group: Group) -> None:
    """Make one nest of a group; one nest after the other, where that is refused."""
    trial = Plan(plan.kernel, plan.request)
    if _take(trial, group, group.members[1:]):
        plan.kernel = trial.kernel
        plan.choices += trial.choices
        return
    for member in group.members[1:]:
        _take(plan, group, [member])


def _take(plan: Plan, group: Group, members: Sequence[Member]) -> bool:
    first = group.members[0]
    ids = [name for member in (first, *members) for name in member.sibling.ids]
    saved = sum(member.saved for member in members)
    apart = sum(member.apart for member in (first, *members))
    return plan.take(
        ids,
        f"{len(members) + 1} nests fused along {', '.join(map(repr, group.loops))}",
        f"{saved:.3g} of {apart:.3g} bytes are not moved any more",
        partial(_fused, group=group, members=members),
    )


def _fused(kernel: Kernel, group: Group, members: Sequence[Member]) -> Kernel:
    """Return the kernel with nests in the loops of a group's."""
    for level, new in enumerate(group.loops):
        alike = tuple([m.sibling.loops[level] for m in members if not m.shifts[level]])
        if alike:
            kernel = rename_inames(kernel, alike, new, existing_ok=True)
        for member in members:
            if by := member.shifts[level]:
                kernel = fuse_loops(kernel, new, member.sibling.loops[level], by)
    return kernel


def _is_circular(kernel: Kernel, grouping: Grouping) -> bool:
    """Tell whether dependencies lead from a group through others back into it."""
    position = {name: number for number, group in enumerate(grouping.groups) for name in group.ids}
    before: dict[int, set[int]] = {}
    for earlier, later in dependencies(kernel.expanded, position):
        before.setdefault(later, set()).add(earlier)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return True
    return False
