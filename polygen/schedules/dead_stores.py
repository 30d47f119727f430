"""Drops stores that nobody sees: of temporaries that are not read, and those overwritten before.

for i: t[i] = 0             nothing reads these zeros
for i: t[i] = 2*a[i]
for i: b[i] = t[n-1-i]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from polygen.analysis.access.domains import all_reads
from polygen.ir.instruction import Assignment, MultiAssignment
from polygen.ir.kernel import Kernel
from polygen.schedules.iteration_distances import Touch, moved
from polygen.schedules.loop_values import same_values
from polygen.schedules.nest_siblings import Sibling, families, plain_nests
from polygen.schedules.plan import Plan
from polygen.transforms.instructions.remove_instructions import remove_instructions


def dead_stores_dropped(plan: Plan) -> None:
    """Take out instructions of which nothing is seen."""
    if unread := _unread(plan.kernel):
        _drop(plan, unread, "nothing reads what they write")
    for insn_id in dict.fromkeys([*_overwritten_later(plan.kernel), *_overwritten(plan.kernel)]):
        _drop(plan, [insn_id], "nothing reads what it writes before it is overwritten, or ever")


def _drop(plan: Plan, ids: Sequence[str], why: str) -> None:
    plan.take(ids, "dropped", why, partial(remove_instructions, insn_ids=tuple(ids)))


def _unread(kernel: Kernel) -> list[str]:
    """Return the instructions that compute temporaries for nothing."""
    temporaries = {t.name for t in kernel.temporaries}
    plain = kernel.expanded
    idle = {
        insn.id: insn
        for insn in plain.instructions
        if isinstance(insn, Assignment | MultiAssignment)
        and insn.id in kernel.instructions_by_id
        and temporaries.issuperset(insn.written_names)
    }
    pending = [insn for insn in plain.instructions if insn.id not in idle]
    for insn in pending:
        for name in all_reads(plain, insn):
            for writer in plain.writers.get(name, ()):
                if idle.pop(writer.id, None) is not None:
                    pending.append(writer)
    return list(idle)


def _overwritten_later(kernel: Kernel) -> Iterator[str]:
    """Yield nests of one instruction whose stores a nest after them makes again, or none reads."""
    temporaries = {temporary.name for temporary in kernel.temporaries}
    for siblings in families(kernel):
        pending: dict[str, Sibling] = {}
        for sibling in siblings:
            for touch in sibling.touches:
                before = pending.get(touch.name)
                if before is not None and _is_again(kernel, before, sibling, touch):
                    yield before.ids[0]
                pending.pop(touch.name, None)
            if sibling.is_plain and len(sibling.ids) == 1:
                (written,) = sibling.written
                pending[written] = sibling
        for name, last in pending.items():
            if name in temporaries and _is_outermost(kernel, last):
                yield last.ids[0]


def _is_outermost(kernel: Kernel, sibling: Sibling) -> bool:
    return kernel.instruction(sibling.ids[0]).within_inames == frozenset(sibling.loops)


def _is_again(kernel: Kernel, before: Sibling, sibling: Sibling, touch: Touch) -> bool:
    """Tell whether a nest writes all that one before it has written."""
    if not (touch.is_write and touch.is_sure and sibling.is_plain):
        return False
    if len(sibling.loops) != len(before.loops):
        return False
    names = dict(zip(sibling.loops, before.loops, strict=True))
    at = {old: (new, 0) for old, new in names.items()}
    last = before.touches[-1]
    return moved(touch, at).forms == last.forms and same_values(
        kernel.expanded, before.loops, sibling.loops
    )


def _overwritten(kernel: Kernel) -> Iterator[str]:
    """Yield instructions whose element another one in the same loops writes again."""
    for nest in plain_nests(kernel):
        pending: dict[str, tuple[str, Touch]] = {}
        for insn_id, touches in zip(nest.ids, nest.of_insns, strict=True):
            for touch in touches:
                before = pending.pop(touch.name, None)
                if before and touch.is_write and touch.is_sure and touch.forms == before[1].forms:
                    yield before[0]
            pending[touches[-1].name] = insn_id, touches[-1]
