"""The loop tree: one loop an iname, siblings in an order that every dependency agrees with.

What decides which of several possible loops stands outside, in this order: structure (a domain
that needs another iname; all of one loop's instructions being part of another's), priorities, and
where these leave it open, the order of the domains, with a warning.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.order.instruction_groups import (
    Before,
    conflicts_with_groups,
    orders_of_groups,
)
from polygen.analysis.order.nestability import way_out, why_not_nestable
from polygen.errors import (
    AmbiguousNesting,
    DependencyCycle,
    GroupsInterleaved,
    NoLoopNest,
)
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_parallel
from polygen.ir.told import is_news
from polygen.ir.verify import excerpt
from polygen.source import warn


@dataclass(frozen=True)
class LoopNode:
    """The loop of an iname, and what is in it, in order."""

    iname: str
    children: tuple[TreeNode, ...]


@dataclass(frozen=True)
class BarrierNode:
    """A point that all work items of a group, or of the grid, reach before any passes it."""

    everyone: bool
    insn_id: str | None = None  # the instruction that asks for it, if one does


@dataclass(frozen=True)
class WaitNode:
    """A point at which a work item waits until the asynchronous copies that it began are made."""


TreeNode: TypeAlias = LoopNode | Instruction | BarrierNode | WaitNode


def statements(nodes: Sequence[TreeNode]) -> Iterator[Instruction]:
    """Yield the instructions below `nodes`, in order."""
    for node in nodes:
        if isinstance(node, Instruction):
            yield node
        elif isinstance(node, LoopNode):
            yield from statements(node.children)


def assignments(nodes: Sequence[TreeNode]) -> Iterator[Assigning]:
    """Yield the instructions below `nodes` that assign to something, in order."""
    for insn in statements(nodes):
        if isinstance(insn, Assigning):
            yield insn


def loop_tree(kernel: Kernel, *, quiet: bool = False) -> tuple[TreeNode, ...]:
    """Return the loops and instructions of the kernel, nested and ordered.

    Parameters:
        kernel: the kernel.
        quiet: do not warn of what was left open.

    Raises:
        NoLoopNest: if no nest has one loop an iname.
        DependencyCycle: if two siblings would each have to come first.
        GroupsInterleaved: if a group of instructions cannot be kept apart from others.
    """
    tree, nest = _nested(kernel)
    if not quiet:
        nest.warn()
    return tree


@per_kernel
def _nested(kernel: Kernel) -> tuple[tuple[TreeNode, ...], _Nest]:
    for before in orders_of_groups(kernel):
        nest = _Nest(kernel, before)
        try:
            return nest.run(), nest
        except DependencyCycle:
            if conflicts_with_groups(kernel):
                continue
            raise
    raise _interleaved(kernel)


def _interleaved(kernel: Kernel) -> GroupsInterleaved:
    first, group = conflicts_with_groups(kernel)[0]
    return GroupsInterleaved(
        "dependencies and loops put instructions between those of a group that they conflict with; "
        f"'{first}' is to come before or after all of: {', '.join(group)}",
        where=kernel.instruction(first).location,
        excerpt=excerpt(kernel, *(i for i, _ in conflicts_with_groups(kernel))),
        remedy="leave out a dependency, or conflicts=; or give instructions loops of their own",
    )


@per_kernel
def loops_outside(kernel: Kernel) -> Mapping[str, frozenset[str]]:
    """Return, for each loop, those that structure or a priority puts outside of it.

    The nests that are permitted are those that agree with this.  A priority against structure, or
    against an earlier one, is left out; and so is one of loops that are never in one another, for
    what it says of others by way of these is not asked for.
    """
    inside: dict[str, set[str]] = {}
    together: dict[tuple[str, str], None] = {}
    for insn in kernel.instructions:
        loops = sorted(_loops(kernel, insn))
        together.update(dict.fromkeys(combinations(loops, 2)))
        for iname in loops:
            inside.setdefault(iname, set()).add(insn.id)
    pairs = [(o, i) for i in inside for o in surrounding_inames(kernel, i) if o in inside]
    pairs += [(a, b) for x in together for a, b in (x, x[::-1]) if inside[a] > inside[b]]
    pairs += [pair for names in kernel.priorities for pair in combinations(names, 2)]
    directly: dict[str, set[str]] = {iname: set() for iname in inside}
    for outer, inner in pairs:
        nested = (min(outer, inner), max(outer, inner)) in together
        if nested and inner not in _above(directly, outer):
            directly[inner].add(outer)
    return {iname: frozenset(_above(directly, iname)) for iname in inside}


def _above(directly: Mapping[str, set[str]], iname: str) -> set[str]:
    found: set[str] = set()
    pending = [iname]
    while pending:
        new = directly[pending.pop()] - found
        found |= new
        pending += new
    return found


def _loops(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    return insn.within_inames - _on_axes(kernel)


@per_kernel
def _on_axes(kernel: Kernel) -> frozenset[str]:
    return frozenset([iname for iname, tag in kernel.tags.items() if is_parallel(tag)])


class _Nest:
    def __init__(self, kernel: Kernel, before: Before) -> None:
        self._kernel = kernel
        self._before = before
        self._rank = {iname: r for r, iname in enumerate(kernel.inames)}
        self._position = {insn.id: p for p, insn in enumerate(kernel.instructions)}
        self._loops = {insn.id: _loops(kernel, insn) for insn in kernel.instructions}
        self._outside = loops_outside(kernel)
        self._ambiguous: dict[tuple[str, ...], None] = {}

    def run(self) -> tuple[TreeNode, ...]:
        return self._build(self._kernel.instructions, frozenset())

    def _build(self, insns: Sequence[Instruction], outer: frozenset[str]) -> tuple[TreeNode, ...]:
        groups = self._groups(insns, outer)
        nodes: list[TreeNode] = []
        for group in self._ordered(groups, outer):
            if len(group) == 1 and self._loops[group[0].id] <= outer:
                nodes.append(group[0])
                continue
            iname = self._outermost(group, outer)
            nodes.append(LoopNode(iname, self._build(group, outer | {iname})))
        return tuple(nodes)

    def _groups(
        self, insns: Sequence[Instruction], outer: frozenset[str]
    ) -> list[list[Instruction]]:
        """Partition instructions into those that share a loop, directly or through others."""
        if len(insns) == 1:
            return [list(insns)]
        group_of_iname: dict[str, list[Instruction]] = {}
        groups: dict[int, list[Instruction]] = {}
        for insn in insns:
            inames = self._loops[insn.id] - outer
            olds = {id(old): old for i in inames if (old := group_of_iname.get(i)) is not None}
            # the smaller into the largest, so that many instructions stay cheap
            merged = max(olds.values(), key=len, default=list[Instruction]())
            for old in olds.values():
                if old is not merged:
                    del groups[id(old)]
                    merged += old
                    for other in old:
                        for name in self._loops[other.id] - outer:
                            group_of_iname[name] = merged
            merged.append(insn)
            group_of_iname |= dict.fromkeys(inames, merged)
            groups[id(merged)] = merged
        for group in groups.values():
            group.sort(key=lambda insn: self._position[insn.id])
        return sorted(groups.values(), key=lambda group: self._position[group[0].id])

    def _ordered(
        self, groups: list[list[Instruction]], outer: frozenset[str]
    ) -> Iterator[list[Instruction]]:
        """Sort siblings so that dependencies are met; where free, by priority, then as written."""
        if len(groups) == 1:
            yield groups[0]
            return
        home = {insn.id: g for g, group in enumerate(groups) for insn in group}
        before: list[set[int]] = [set() for _ in groups]
        after: list[list[int]] = [[] for _ in groups]
        for g, group in enumerate(groups):
            for insn in group:
                for dep in self._before[insn.id]:
                    d = home.get(dep, g)
                    if d != g and d not in before[g]:
                        before[g].add(d)
                        after[d].append(g)
        missing = [len(b) for b in before]
        rank = [(-max(insn.priority for insn in group), g) for g, group in enumerate(groups)]
        ready = [rank[g] for g, count in enumerate(missing) if count == 0]
        heapq.heapify(ready)
        done = 0
        while ready:
            _, g = heapq.heappop(ready)
            done += 1
            yield groups[g]
            for other in after[g]:
                missing[other] -= 1
                if missing[other] == 0:
                    heapq.heappush(ready, rank[other])
        if done < len(groups):
            self._refuse_order([g for g, m in zip(groups, missing, strict=True) if m], outer)

    def _refuse_order(self, stuck: list[list[Instruction]], outer: frozenset[str]) -> None:
        ids = [insn.id for group in stuck for insn in group]
        loops = sorted({i for insn_id in ids for i in self._loops[insn_id] - outer})
        raise DependencyCycle(
            "each of these instructions must come after another of them"
            + (f", for an iname is one loop only: {', '.join(loops)}" if loops else ""),
            where=self._kernel.instruction(ids[0]).location,
            excerpt=excerpt(self._kernel, *ids),
            remedy=self._way_out(ids, loops),
        )

    def _way_out(self, stuck: Sequence[str], loops: Sequence[str]) -> str:
        """Return what lets these instructions have an order."""
        for iname in loops:
            for insn_id in stuck:
                before = self._kernel.instruction(insn_id).depends_on.intersection(stuck)
                outside = sorted(b for b in before if iname not in self._loops[b])
                if outside and iname in self._loops[insn_id]:
                    return (
                        f"give '{insn_id}' a loop of its own, {{dup={iname}}}; or let "
                        f"'{outside[0]}' be in the loop of '{iname}', too: {{+inames={iname}}}; or "
                        "remove a dependency (dep=*... is exhaustive)"
                    )
        return "remove a dependency (dep=*... is exhaustive)"

    def _outermost(self, group: list[Instruction], outer: frozenset[str]) -> str:
        """Choose the loop that surrounds all of `group`."""
        first, *others = (self._loops[insn.id] for insn in group)
        common = first.intersection(*others) - outer
        if not common:
            self._refuse_nest(group, outer)
        possible = sorted(
            (i for i in common if self._outside[i].isdisjoint(common)), key=self._rank.__getitem__
        )
        if len(possible) > 1:
            self._ambiguous[tuple(possible)] = None
        return possible[0]

    def _refuse_nest(self, group: list[Instruction], outer: frozenset[str]) -> None:
        loops = {insn.id: self._loops[insn.id] - outer for insn in group}
        raise NoLoopNest(
            f"no loop nest has one loop an iname: {why_not_nestable(loops)}",
            where=group[0].location,
            excerpt=excerpt(self._kernel, *loops),
            remedy=f"give some of these instructions loops of their own: {way_out(loops)}",
        )

    def warn(self) -> None:
        """Warn of what was left open, once a kernel: steps and code for others say it no more."""
        kernel = self._kernel
        silenced = AmbiguousNesting.__name__ in kernel.options.silenced_warnings
        if not self._ambiguous or silenced or not is_news(kernel, AmbiguousNesting):
            return
        open_choices = "; ".join("{" + ", ".join(c) + "}" for c in self._ambiguous)
        warn(
            AmbiguousNesting(
                f"kernel '{kernel.name}': nothing says which of these loops is outside: "
                f"{open_choices}; the order of the domains was taken (prioritize_loops decides it)"
            )
        )
