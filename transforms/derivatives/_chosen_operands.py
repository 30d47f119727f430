"""Which operand a minimum or maximum takes: a temporary, so that it is found once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.analysis.access.accesses import evaluated_under
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._derivative_draft import Draft
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
    draft, known = Draft(kernel), dict[Expression, str]()
    before: dict[str, list[Assignment]] = {}
    for insn in kernel.assignments:
        for reduction in _reductions(insn):
            if not moving.isdisjoint(walk.free_variables(reduction)) and reduction not in known:
                name = known[reduction] = draft.name(f"{reduction.inames[0]}_taken")
                before.setdefault(insn.id, []).append(_choosing(insn, reduction, name, draft))
    if not before:
        return kernel, known
    insns: list[Instruction] = []
    for old in kernel.instructions:
        new = before.get(old.id, [])
        insns += [*new, old.copy(depends_on=old.depends_on.union(i.id for i in new))]
    temporaries = [TemporaryVariable(name) for name in known.values()]
    new_kernel = kernel.copy(
        domains=draft.domains,
        instructions=tuple(insns),
        temporaries=(*kernel.temporaries, *temporaries),
    )
    return new_kernel, known


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


def _choosing(insn: Assigning, reduction: ex.Reduction, name: str, draft: Draft) -> Assignment:
    return Assignment(
        draft.name(f"{insn.id}_choice"),
        ex.Variable(name),
        choice(reduction, draft),
        within_inames=insn.within_inames,
        depends_on=insn.depends_on,
        happens_after=insn.happens_after,
    )
