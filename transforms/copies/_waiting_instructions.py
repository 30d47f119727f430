"""Several instructions in the place of one, for those that wait for it."""

from __future__ import annotations

from collections.abc import Iterable

from polygen.ir.instruction import Instruction


def waiting_for(insn: Instruction, old: str, ids: Iterable[str]) -> Instruction:
    """Return an instruction that waits, or need not wait, for several others instead of one."""
    scopes = [scope for other, scope in insn.no_sync_with if other == old]
    if old not in insn.depends_on and not scopes:
        return insn
    new = frozenset(ids)
    depends_on = insn.depends_on - {old} | new if old in insn.depends_on else insn.depends_on
    kept = frozenset([pair for pair in insn.no_sync_with if pair[0] != old])
    freed = kept.union((i, scope) for i in new for scope in scopes)
    return insn.copy(depends_on=depends_on, no_sync_with=freed)
