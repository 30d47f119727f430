"""Turns loops so that the innermost one walks through memory.

    for i: for j: b[j, i] = 2*a[j, i]    ->    for j: for i: b[j, i] = 2*a[j, i]

Of the loops that hold the same instructions, the one moves inside along which most of what is
touched lies side by side.  The others are ordered by how far apart they walk.
"""

from __future__ import annotations

from polygen.analysis.access.domains import surrounding_inames
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.loops.memory_order import along_memory
from polygen.tuning.neighbours import shared_uses, strides_of

_LINE = 8  # elements: a step as long, or longer, needs a line of memory of its own
_GAIN = 0.7  # of the cost: less is not worth an order that nobody wrote
_SHORT = 4  # iterations: too few to walk along


def in_memory_order(plan: Plan) -> None:
    """Turn the loops of each nest, where that gains much and is legal."""
    for nest in list(all_nests(nests_of(plan.kernel))):
        if len(nest.loops) > 1 and nest.is_perfect and not _has_order(plan, nest):
            _turn(plan, nest)


def _has_order(plan: Plan, nest: Nest) -> bool:
    """Tell whether the loops are ordered by what reduces, by tags, or by a stage before."""
    if any(insn.reductions for insn in nest.instructions):
        return True
    return any(i in plan.kernel.tags or i not in plan.given.inames for i in nest.inames)


def _turn(plan: Plan, nest: Nest) -> None:
    kernel = plan.kernel
    extents = Extents(kernel, plan.request.sizes)
    costs = _costs(kernel, nest, extents)
    written = nest.loops[-1]
    ranked = sorted(nest.loops, key=lambda iname: (costs[iname], -nest.loops.index(iname)))
    before = costs[written]
    if costs[ranked[0]] > _GAIN * before:
        ranked = [written, *(iname for iname in ranked if iname != written)]
    about = f"innermost loop of {', '.join(nest.ids)}"
    inner = ranked[plan.pick(about, ranked, extents.work(nest))]
    if inner == written:
        return
    busiest = max(nest.instructions, key=lambda insn: len(shared_uses(kernel.expanded, [insn.id])))
    runs = along_memory(kernel, busiest.id, nest.loops)
    order = [iname for run in runs for iname in run if iname != inner]
    if not _can_nest(kernel, (*order, inner)):
        return
    plan.take(
        nest.ids,
        f"'{inner}' inside",
        f"it touches {costs[inner]:.2g} lines of memory an iteration, '{written}' {before:.2g}",
        lambda knl: prioritize_loops(knl, (*order, inner)),
    )


def _can_nest(kernel: Kernel, loops: tuple[str, ...]) -> bool:
    """Tell whether no loop's bounds depend on a loop further inside."""
    return all(
        surrounding_inames(kernel, iname).isdisjoint(loops[at + 1 :])
        for at, iname in enumerate(loops)
    )


def _costs(kernel: Kernel, nest: Nest, extents: Extents) -> dict[str, float]:
    """Return how many lines of memory an iteration of each loop touches, were it the innermost."""
    plain = kernel.expanded
    uses = shared_uses(plain, nest.ids)
    strides = [strides_of(plain, use, nest.loops) for use in uses]

    def lines(iname: str) -> float:
        found = 0.01 + sum(min(1.0, along.get(iname, 0.0) / _LINE) for along in strides)
        return found if extents.of(iname) >= _SHORT else found + len(uses)

    return {iname: lines(iname) for iname in nest.loops}
