"""The order of what runs forwards, what saves values on the way, and what runs backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.instance_order import order_of
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._saved_values import Saved


def in_order(whole: Kernel, old: Kernel, saved: Saved, backwards: Sequence[Instruction]) -> Kernel:
    """Return a kernel with instructions added, and with the dependencies that they need.

    Parameters:
        whole: the kernel, with all loops and variables.
        old: the kernel before.
        saved: what stands beside its instructions.
        backwards: what comes after all of these, in this order.
    """
    forwards = [
        i
        for insn in old.instructions
        for i in (*saved.before.get(insn.id, ()), insn, *saved.after.get(insn.id, ()))
    ]
    whole = whole.copy(instructions=(*forwards, *backwards))
    uses = _Uses(whole)
    before = {i.id: set(i.depends_on) for i in whole.instructions}
    for first, second in _beside(old, saved):
        if uses.conflict(first, second):
            before[second].add(first)
    earlier = [i.id for i in forwards]
    for insn in backwards:
        before[insn.id] |= set(uses.needed(insn.id, earlier, before))
        earlier.append(insn.id)
    return whole.copy(
        instructions=tuple([i.copy(depends_on=frozenset(before[i.id])) for i in whole.instructions])
    )


class _Uses:
    """The names that instructions read and write."""

    def __init__(self, kernel: Kernel) -> None:
        insns = kernel.instructions
        self._uses = {i.id: (frozenset(i.written_names), all_reads(kernel, i)) for i in insns}
        self._loops = {i.id: i.within_inames for i in insns}

    def conflict(self, first: str, second: str) -> bool:
        """Tell whether the order of two instructions may matter."""
        (written, read), (later, later_read) = self._uses[first], self._uses[second]
        return not written.isdisjoint(later | later_read) or not read.isdisjoint(later)

    def needed(
        self, insn_id: str, earlier: Sequence[str], before: dict[str, set[str]]
    ) -> list[str]:
        """Return those of the earlier instructions that one depends on, not through others."""
        found: list[str] = []
        for first in reversed(earlier):
            if self.conflict(first, insn_id) and not any(
                first in before[other]
                and self._loops[first] & self._loops[insn_id] <= self._loops[other]
                for other in found
            ):
                found.append(first)
        return found


def _beside(old: Kernel, saved: Saved) -> Iterator[tuple[str, str]]:
    """Yield pairs of instructions of which the first comes first, one of them saving."""
    order = order_of(old)
    for insn in old.instructions:
        for saving in saved.before.get(insn.id, ()):
            yield saving.id, insn.id
            for other in old.instructions:
                if order.depends(other.id, insn.id):
                    yield other.id, saving.id
                elif order.depends(insn.id, other.id):
                    yield saving.id, other.id
        for saving in saved.after.get(insn.id, ()):
            yield insn.id, saving.id
            for other in old.instructions:
                if order.depends(insn.id, other.id):
                    yield saving.id, other.id
