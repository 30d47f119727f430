"""Other ids for instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polygen.ir.claims import Claim, Independent
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel


def with_ids(kernel: Kernel, ids: Mapping[str, str]) -> Kernel:
    """Return the kernel with other ids, wherever instructions are mentioned.

    Parameters:
        kernel: the kernel.
        ids: the new id of each instruction that gets one.
    """
    return kernel.copy(
        instructions=tuple([_renamed(insn, ids) for insn in kernel.instructions]),
        claims=tuple([_renamed_claim(claim, ids) for claim in kernel.claims]),
    )


def _renamed(insn: Instruction, ids: Mapping[str, str]) -> Instruction:
    related = [replace(r, first=ids.get(r.first, r.first)) for r in insn.happens_after]
    return insn.copy(
        id=ids.get(insn.id, insn.id),
        depends_on=frozenset([ids.get(i, i) for i in insn.depends_on]),
        happens_after=frozenset(related),
        no_sync_with=frozenset([(ids.get(i, i), scope) for i, scope in insn.no_sync_with]),
    )


def _renamed_claim(claim: Claim, ids: Mapping[str, str]) -> Claim:
    if isinstance(claim, Independent):
        return Independent(ids.get(claim.first, claim.first), ids.get(claim.second, claim.second))
    return claim
