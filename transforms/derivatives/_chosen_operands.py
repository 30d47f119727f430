"""Stores which operand a minimum or maximum takes, so that it is found once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.analysis.access.accesses import evaluated_under
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._derivative_draft import DerivativeDraft
from polygen.transforms.derivatives._expression_derivatives import choice, chooses


def with_choices(kernel: Kernel, moving: frozenset[str]) -> tuple[Kernel, Mapping[Expression, str]]:
    """Return a kernel that knows which operands its minima and maxima take.

    Those are left out that are computed in other reductions, or under conditions.

    Parameters:
        kernel: the kernel.
        moving: the variables that matter.

    Returns:
        The kernel, and for each of these reductions a temporary with the value of its iname.
    """
    draft, known = DerivativeDraft(kernel), dict[Expression, str]()
    before: dict[str, list[Assigning]] = {}
    for insn in kernel.assignments:
        for reduction in _reductions(insn):
            if not moving.isdisjoint(walk.free_variables(reduction)) and reduction not in known:
                name = known[reduction] = draft.temporary(f"{reduction.inames[0]}_taken").name
                before.setdefault(insn.id, []).append(_choosing(insn, reduction, name, draft))
    if not before:
        return kernel, known
    stages: dict[str, list[Instruction]] = {}
    for insn_id, new in before.items():
        old = kernel.instruction(insn_id)
        stages[insn_id] = [*new, old.copy(depends_on=old.depends_on.union(i.id for i in new))]
    return draft.with_stages(stages), known


def _reductions(insn: Assigning) -> Iterator[ex.Reduction]:
    """Yield the minima and maxima that are computed wherever an instruction is executed."""
    if insn.predicates:
        return
    pending: list[tuple[Expression, tuple[Expression, ...]]] = [(v, ()) for v in insn.values]
    while pending:
        node, conditions = pending.pop()
        if isinstance(node, ex.Reduction):
            if chooses(node) and not conditions:
                yield node
            continue
        pending += evaluated_under(node, conditions)


def _choosing(
    insn: Assigning, reduction: ex.Reduction, name: str, draft: DerivativeDraft
) -> Assigning:
    value = choice(reduction, draft)
    before = insn.happens_after
    return draft.stage(insn, "choice", [ex.Variable(name)], [value], happens_after=before)
