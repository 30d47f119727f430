"""Checks that atomic instructions are updates, or write without reading."""

from __future__ import annotations

from polygen.ir import walk
from polygen.ir.atomicity import ANY_ORDER
from polygen.ir.fetches import in_reduction
from polygen.ir.instruction import Assignment, CInstruction, Instruction, MultiAssignment
from polygen.ir.show_expression import show_expression


def why_no_update(insn: Instruction) -> tuple[str, str] | None:
    """Return why an instruction cannot be atomic as it says, and a remedy; None if it can."""
    if isinstance(insn, MultiAssignment):
        return _why_no_fetch(insn)
    if isinstance(insn, CInstruction) and insn.atomicity not in (None, ANY_ORDER):
        return (
            "is verbatim C, which is never atomic",
            "leave the option out; atomic=any_order claims that instances may come in any order",
        )
    if not isinstance(insn, Assignment) or insn.atomicity is None:
        return None
    if insn.atomicity.any_order:
        return (
            "claims that its result may depend on the order in which updates come, and has none",
            "leave any_order out: updates with one operation may come in any order anyway",
        )
    return None if insn.atomicity.init else _why_no_combination(insn)


def _why_no_combination(insn: Assignment) -> tuple[str, str] | None:
    assert insn.atomicity is not None
    operation, update = insn.atomicity.operation, insn.update
    definition = None if operation is None else operation.definition
    if definition is not None and not definition.has_any_order:
        return (
            f"is atomic, but '{operation}' is not claimed to be associative and commutative",
            "claim it if it is so: register_reduction(..., associative=True, commutative=True)",
        )
    if definition is not None and update is not None and walk.reductions(update.operand):
        return (
            f"is atomic, but '{operation}' is given a reduction",
            "reduce into a temporary first",
        )
    if update is not None:
        return None
    return (
        "is atomic, but it is no update: it does not combine "
        f"'{show_expression(insn.assignee)}' with one operand",
        "write a[i] += x, or *=, -=, &=, |=, ^=, or a[i] = max(a[i], x), min, and, or; put several "
        "terms in parentheses; {atomic=init} is for plain values",
    )


def _why_no_fetch(insn: MultiAssignment) -> tuple[str, str] | None:
    """Return why an instruction with several assignees does not return an old value."""
    if insn.atomicity is None:
        return None
    is_pair = len(insn.assignees) == 2 and insn.values[0] == insn.assignees[1]
    if not is_pair:
        return (
            "is atomic and has several assignees, but they do not get the old value of an element, "
            "and that element a new one",
            "write old = fetch_add(a[i], x), or old, a[i] = a[i], ...  {atomic}",
        )
    if insn.atomicity.init:
        return (
            "is atomic=init, which does not read, and returns an old value",
            "leave init out; or write old = exchange(a[i], x)",
        )
    if in_reduction(insn.assignees[1], insn.values[1]):
        return (
            f"is atomic, but a reduction reads '{show_expression(insn.assignees[1])}' before it is "
            "updated",
            "reduce what does not depend on the old value, into a temporary first",
        )
    return None
