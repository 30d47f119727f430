"""Places barriers between work items.

Between conflicting statements (see `polygen.lower.waits`), and at the end of a loop whose next
iteration conflicts with this one, there has to be a barrier: for the work items of one group, or
for everyone, which is a boundary between launches.

The rule has parts elsewhere: `waits` says which statements conflict, and who has to wait;
`launch_order`, on which side of a launch boundary a statement stands; `work_items`, what becomes of
barriers where there is no grid.  `polygen.validation.exchange` finds barriers that are missing, by
its own code; both ask `polygen.analysis.pairs.instance_pairs` which accesses meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeAlias

from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, assignments
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.instruction import Assigning, Barrier
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag, UnrollTag
from polygen.lower.launch_order import by_launch, is_cut
from polygen.lower.owners import Owner
from polygen.lower.waits import OVERLAP, Conflicts, Scope


@dataclass
class _Touching:
    """The instructions that touch a variable, and the owners that all of them show."""

    insns: list[Assigning]
    owners: frozenset[Owner]


_ByVariable: TypeAlias = dict[str, _Touching]


def place_barriers(kernel: Kernel, tree: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Return the loop tree with a barrier wherever one is needed."""
    if any(isinstance(tag, GroupTag | LocalTag) for tag in kernel.tags.values()):
        tree = _Placer(kernel).block(tree, ())
    return tuple(_carried_out(tree))


def _scope_of(barrier: BarrierNode) -> Scope:
    return Scope.EVERYONE if barrier.everyone else Scope.GROUP


def _carried_out(nodes: Sequence[TreeNode]) -> Iterator[TreeNode]:
    """Yield what is left for code: instructions that assign, loops around such, barriers."""
    for node in nodes:
        if isinstance(node, LoopNode):
            children = tuple(_carried_out(node.children))
            if any(True for _ in assignments(children)):
                yield LoopNode(node.iname, children)
        elif isinstance(node, Assigning | BarrierNode):
            yield node


def _over(since: dict[Scope, _ByVariable], scope: Scope) -> None:
    """Forget what these work items have waited for."""
    for kind in Scope.GROUP, Scope.EVERYONE:
        if kind <= scope:
            since[kind] = {}


def _ends(placed: Sequence[TreeNode]) -> list[int]:
    """Return where launches end between siblings."""
    return [at for at, node in enumerate(placed) if isinstance(node, BarrierNode) and node.everyone]


class _Placer:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._conflicts = Conflicts(kernel)

    def block(self, nodes: Sequence[TreeNode], loops: tuple[str, ...]) -> tuple[TreeNode, ...]:
        """Return siblings, which stand in `loops`, with barriers before those that need one."""
        insides = [self._inside(node, loops) for node in nodes]
        placed = self._placed(insides, loops)
        ends = _ends(placed)
        if not ends or len(insides) < 3:
            return placed
        launches = by_launch(self._kernel, insides, partial(self._between, loops))
        if launches is None or (len(launches) > len(ends) and not self._is_cut(placed, ends)):
            return placed
        better = self._placed(launches[0], loops)
        for launch in launches[1:]:
            better = (*better, BarrierNode(everyone=True), *self._placed(launch, loops))
        return better

    def _is_cut(self, placed: Sequence[TreeNode], ends: Sequence[int]) -> bool:
        """Tell whether private or local memory would have to outlive a launch."""
        starts = [0, *(end + 1 for end in ends)]
        parts = zip(starts, (*ends, len(placed)), strict=True)
        return is_cut(self._kernel, [placed[start:end] for start, end in parts])

    def _between(self, loops: tuple[str, ...], before: TreeNode, after: TreeNode) -> Scope:
        """Return who has to wait between two siblings."""
        found = Scope.NOBODY
        for first, second in product(assignments((before,)), assignments((after,))):
            for name in self._conflicts.shared(first.id) & self._conflicts.shared(second.id):
                if not self._conflicts.is_decided(name, found):
                    found = max(found, self._conflicts.between(name, first, second, loops, None))
        return found

    def _placed(self, nodes: Sequence[TreeNode], loops: tuple[str, ...]) -> tuple[TreeNode, ...]:
        """Return siblings in this order, with barriers before those that need one."""
        placed: list[TreeNode] = []
        since: dict[Scope, _ByVariable] = {Scope.GROUP: {}, Scope.EVERYONE: {}}
        for inside in nodes:
            if isinstance(inside, Barrier):
                everyone = inside.scope is AddressSpace.GLOBAL
                placed.append(BarrierNode(everyone, inside.id))
                _over(since, Scope.EVERYONE if everyone else Scope.GROUP)
                continue
            new = list(assignments((inside,)))
            scope = self._scope(since, new, loops)
            if scope is not Scope.NOBODY:
                placed.append(BarrierNode(everyone=scope is Scope.EVERYONE))
                _over(since, scope)
            placed.append(inside)
            waited = self._waited_at_the_end(inside)
            for scope, pending in since.items():
                if scope > waited:
                    for insn in new:
                        for name in self._conflicts.shared(insn.id):
                            self._add(pending, name, insn)
        return tuple(self._early(placed, loops))

    def _add(self, pending: _ByVariable, name: str, insn: Assigning) -> None:
        owners = self._conflicts.owners.of(insn.id, name)
        known = pending.setdefault(name, _Touching([], owners))
        known.insns.append(insn)
        known.owners &= owners

    def _early(self, placed: Sequence[TreeNode], loops: tuple[str, ...]) -> list[TreeNode]:
        """Return siblings with each barrier right behind what has to come before it.

        Where it stands was the last place that will do.  The first one keeps together what one
        work item does by itself: the start of an accumulator, and the loop that adds to it.
        """
        result: list[TreeNode] = []
        start = launch = 0  # behind the last barrier, and the last one that has to stay where it is
        for at, node in enumerate(placed):
            result.append(node)
            if isinstance(node, BarrierNode) and node.insn_id is not None:
                start = launch = len(result)
            elif isinstance(node, BarrierNode):
                result.pop()
                after = placed[at + 1 :]
                first = early = self._behind(result, start, after, loops)
                if node.everyone:
                    early = self._behind(result, launch, after, loops, Scope.EVERYONE)
                rest = (*result[first:], *after)
                if any(self._separates(n, rest, loops, local=True) for n in result[early:first]):
                    # What a group has in its own memory would be lost between launches.
                    if first > start:  # else there is one
                        result.insert(first, BarrierNode(everyone=False))
                        start = first + 1
                    result.insert(early, node)
                    start, launch = start + 1, early + 1
                    continue
                result.insert(first, node)
                start = first + 1
                if node.everyone:
                    launch = start
        return result

    def _behind(
        self,
        nodes: Sequence[TreeNode],
        start: int,
        after: Sequence[TreeNode],
        loops: tuple[str, ...],
        least: Scope = Scope.GROUP,
    ) -> int:
        """Return the position, not before `start`, behind all that has to wait before `after`."""
        first = len(nodes)
        while first > start and not self._separates(nodes[first - 1], after, loops, least):
            first -= 1
        return first

    def _separates(
        self,
        before: TreeNode,
        after: Sequence[TreeNode],
        loops: tuple[str, ...],
        least: Scope = Scope.GROUP,
        *,
        local: bool = False,
    ) -> bool:
        """Tell whether a barrier has to stand between `before` and `after`.

        Parameters:
            least: who has to wait, at least.
            local: look at what is in local memory alone.
        """
        waiting = Scope(least - 1)
        for node in after:
            if isinstance(node, BarrierNode):
                waiting = max(waiting, _scope_of(node))
            for first in assignments((before,)):
                for second in assignments((node,)):
                    for name in self._conflicts.shared(first.id) & self._conflicts.shared(
                        second.id
                    ):
                        if local and (name == OVERLAP or not self._conflicts.is_local(name)):
                            continue
                        if self._conflicts.between(name, first, second, loops, None) > waiting:
                            return True
        return False

    def _inside(self, node: TreeNode, loops: tuple[str, ...]) -> TreeNode:
        if not isinstance(node, LoopNode):
            return node
        children = self.block(node.children, (*loops, node.iname))
        carried = self._carried(children, loops, node.iname)
        if carried is not Scope.NOBODY:
            children = (*children, BarrierNode(everyone=carried is Scope.EVERYONE))
        return LoopNode(node.iname, children)

    def _waited_at_the_end(self, node: TreeNode) -> Scope:
        """Return who has waited whenever something in this node was executed.

        Of an unrolled loop's body, the last copy ends without a barrier; so does a loop over a rim
        that has one iteration.
        """
        if not isinstance(node, LoopNode):
            return Scope.NOBODY
        divided = (node.iname in walk.free_variables(c) for c in self._kernel.separations)
        if isinstance(self._kernel.tags.get(node.iname), UnrollTag) or any(divided):
            return Scope.NOBODY
        last = node.children[-1]
        return _scope_of(last) if isinstance(last, BarrierNode) else Scope.NOBODY

    def _scope(
        self,
        since: Mapping[Scope, _ByVariable],
        new: Sequence[Assigning],
        loops: tuple[str, ...],
    ) -> Scope:
        found = Scope.NOBODY
        for scope, pending in since.items():
            for second in new:
                for name in self._conflicts.shared(second.id):
                    for first in self._to_compare(pending, name, second):
                        if self._conflicts.is_decided(name, found):
                            break
                        if self._conflicts.between(name, first, second, loops, None) >= scope:
                            found = max(found, scope)
        return found

    def _to_compare(self, pending: _ByVariable, name: str, insn: Assigning) -> Sequence[Assigning]:
        """Return what touches a variable, and may do so in other work items than an instruction."""
        known = pending.get(name)
        if known is None:
            return ()
        owners = self._conflicts.owners
        common = known.owners & owners.of(insn.id, name)
        return () if common and owners.are_enough(common) else known.insns

    def _carried(self, children: Sequence[TreeNode], loops: tuple[str, ...], iname: str) -> Scope:
        """Return who has to wait between one iteration of the loop and the next."""
        users: dict[str, list[tuple[int, Assigning]]] = {}
        for at, child in enumerate(children):
            for insn in assignments((child,)):
                for name in self._conflicts.shared(insn.id):
                    users.setdefault(name, []).append((at, insn))
        waits = [(at, _scope_of(b)) for at, b in enumerate(children) if isinstance(b, BarrierNode)]
        found = Scope.NOBODY
        for name, placed in users.items():
            for at, first in placed:
                for until, second in placed:
                    between = [scope for w, scope in waits if w > at or w < until]
                    waiting = max(between, default=Scope.NOBODY)
                    if not self._conflicts.is_decided(name, max(found, waiting)):
                        scope = self._conflicts.between(name, first, second, loops, iname)
                        found = max(found, scope if scope > waiting else Scope.NOBODY)
        return found
