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

from collections.abc import Iterator

from polygen.analysis.access.storage_copies import lanes_of
from polygen.analysis.order.instance_order import order_of
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
        changed = [i for i in seconds if i in self._moved or i in elsewhere]
        for first in firsts:
            if not self._is_plain or first in self._moved or first in elsewhere:
                partners = seconds
            elif first in self._lost:
                lost = self._lost[first]
                chosen = {*changed, *(i for i in seconds if lost >> self._number[i] & 1)}
                partners = tuple([i for i in seconds if i in chosen])
            else:
                partners = tuple(changed)
            yield from ((first, i) for i in partners if self._is_changed(first, i, elsewhere))

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
