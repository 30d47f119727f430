"""Pairs of instructions whose order a step may change: all others need not be looked at.

A step changes few loops, and most pairs of instructions have no part in it:

    for i: a[i] = ...        tag_inames(knl, {"k": "g.0"})
    for j: b[j] = a[j]       leaves the order of the first two as it is,
    for k: a[k] = b[k]       and that of the third and them, too

Two instances are ordered by the loops around both, and then by dependencies.  So all pairs of two
instructions come as they came if the loops around both are the ones that were, if the inames of
these are what they were, and if the first has to come first still, if it had to.  This is seen for
all instructions that a step leaves in their loops at once, by sets of bits (`Order.followers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.access.storage_copies import lanes_of
from polygen.analysis.order.instance_order import Order, order_of
from polygen.analysis.pairs.instance_pairs import is_read, users
from polygen.analysis.rearrangement.kept_order import has_same_copies
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel


class ChangedPairs:
    """The pairs of instructions of which a step may change the order, by what they touch.

    Parameters:
        step: the kernels; they have the same instructions.
    """

    def __init__(self, step: Rearrangement) -> None:
        self._step = step
        self._old, self._new = order_of(step.old), order_of(step.new)
        self._ids = [insn.id for insn in step.new.instructions]
        self._number = {insn_id: number for number, insn_id in enumerate(self._ids)}
        # Where numbers differ, nothing is seen at once.
        self._is_plain = [insn.id for insn in step.old.instructions] == self._ids
        self._related = {i.id for i in step.new.instructions if i.happens_after}
        self._related |= {i.id for i in step.old.instructions if i.happens_after}
        self._moved = {i for i in self._ids if self._is_plain and self._moves(i)}
        self._lost = self._lost_orders() if self._is_plain else {}
        self._in_loops = [self._by_outermost_loop(order) for order in (self._old, self._new)]
        self._around = self._lost.keys() | {j for i in self._moved for j in self._near(i)}

    def pairs(self, name: str, other_name: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield the pairs of users of a variable that are to be looked at, in their order.

        Parameters:
            name: the variable that the first touches.
            other_name: the one that the second touches, if it is an array that may overlap the
                first.
        """
        firsts, seconds = users(self._step.new, name), users(self._step.new, other_name or name)
        elsewhere = self._elsewhere(name) if other_name is None else frozenset[str]()
        if other_name is None and not is_read(self._step.new, name):  # any order of writes will do
            yield from ((i, i) for i in firsts if self._is_changed(i, i, elsewhere))
            return
        for first, partners in self._candidates(firsts, seconds, elsewhere):
            yield from ((first, i) for i in partners if self._is_changed(first, i, elsewhere))

    def _candidates(
        self, firsts: Sequence[str], seconds: Sequence[str], elsewhere: frozenset[str]
    ) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield instructions with those that they may have another order with, in their order.

        Those that share no loop, neither before nor after, are in another one only if it is lost.
        """
        if not self._is_plain:
            yield from ((first, seconds) for first in firsts)
            return
        if elsewhere.isdisjoint(firsts) and self._around.isdisjoint(firsts):
            return
        position = {insn_id: number for number, insn_id in enumerate(seconds)}
        moved = elsewhere | self._moved
        for first in firsts:
            if first in elsewhere or first in self._related:
                yield first, seconds
                continue
            if first not in self._around and not elsewhere and not self._related:
                continue
            near = self._near(first) if first in moved else self._near(first) & moved
            chosen = near.union(elsewhere, self._related).intersection(position)
            if lost := self._lost.get(first, 0):
                chosen = chosen.union(i for i in seconds if lost >> self._number[i] & 1)
            yield first, sorted(chosen, key=position.__getitem__)

    def _near(self, insn_id: str) -> frozenset[str]:
        """Return the instructions that share a loop with one, before or after."""
        found: set[str] = {insn_id}
        for order, members in zip((self._old, self._new), self._in_loops, strict=True):
            found.update(*(members.get(loop, ()) for loop in order.loops(insn_id)[:1]))
        return frozenset(found)

    def _is_changed(self, first: str, second: str, elsewhere: frozenset[str]) -> bool:
        """Tell whether it does not show that pairs of two instructions come as they came."""
        if not self._is_plain or first in self._related or second in self._related:
            return True
        if first in elsewhere or second in elsewhere:
            return True
        if self._lost.get(first, 0) >> self._number[second] & 1:
            return True
        if first not in self._moved and second not in self._moved:
            return False
        loops = self._old.shared_loops(first, second)
        if loops != self._new.shared_loops(first, second):
            return True
        inames = frozenset(loops)
        return any(self._step.map.moves(i, inames) for i in (first, second))

    def _moves(self, insn_id: str) -> bool:
        loops = self._old.loops(insn_id)
        if loops != self._new.loops(insn_id) or insn_id in self._related:
            return True
        return self._step.map.moves(insn_id, frozenset(loops))

    def _by_outermost_loop(self, order: Order) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for insn_id in self._ids if self._moved or self._lost else ():
            for loop in order.loops(insn_id)[:1]:
                found.setdefault(loop, []).append(insn_id)
        return found

    def _lost_orders(self) -> dict[str, int]:
        """Return for instructions, as bits, those that had to come after them and need not now."""
        found = {i: self._old.followers(i) & ~self._new.followers(i) for i in self._ids}
        return {insn_id: lost for insn_id, lost in found.items() if lost}

    def _elsewhere(self, name: str) -> frozenset[str]:
        """Return the instructions that may touch other copies of a variable than they did."""
        kernels = self._step.old, self._step.new
        if all(_is_one(kernel, name) for kernel in kernels):
            return frozenset()
        ids = users(self._step.new, name)
        return frozenset(i for i in ids if not has_same_copies(self._step, (i, i), name))


def _is_one(kernel: Kernel, name: str) -> bool:
    """Tell whether there is one copy of a variable."""
    return kernel.address_space(name) is AddressSpace.GLOBAL and not lanes_of(kernel, name)
