"""Reductions in whose loops other instructions stand.

Such a reduction adds up in these loops, together with what else is in them: what it reads is what
is there in that iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Contribution(Assignment):
    """One value that a reduction adds up: an instruction within the inames of the reduction too.

    Attributes:
        owner: the id of the instruction with the reduction.
        reduction: what it is a part of; never None.
    """

    owner: str = ""
    reduction: ex.Reduction | None = None


def with_contributions(kernel: Kernel) -> tuple[Instruction, ...]:
    """Return the instructions of a kernel, with those contributions that others stand beside."""
    found: list[Instruction] = []
    for insn in kernel.instructions:
        if isinstance(insn, Assigning):
            others = [o for o in kernel.instructions if o is not insn]
            shared = frozenset[str]().union(*(o.within_inames for o in others))
            found += _with_own(insn, shared)
        else:
            found.append(insn)
    return tuple(found)


def _with_own(insn: Assigning, shared: frozenset[str]) -> list[Instruction]:
    """Return an instruction after its contributions, those to reductions in these included."""
    found: list[Instruction] = []
    after: set[str] = set()
    # What is reduced is there before conditions are asked that reduce themselves.
    early = tuple([p for p in insn.predicates if not walk.reductions(p)])
    for reduction, when in _outermost(insn).items():
        if shared.isdisjoint(walk.reduction_inames(reduction)):
            continue
        made = Contribution(
            f"{insn.id}'{len(after)}",
            insn.assignees[0],
            reduction.operand,
            insn.within_inames.union(reduction.inames),
            insn.depends_on,
            (*early, *when),
            owner=insn.id,
            reduction=reduction,
        )
        found += _with_own(made, shared)
        after.add(made.id)
    return [*found, insn.copy(depends_on=insn.depends_on | after) if after else insn]


def _outermost(insn: Assigning) -> dict[ex.Reduction, tuple[Expression, ...]]:
    """Return the outermost reductions of an instruction, each with conditions of its evaluation."""
    found: dict[ex.Reduction, list[Expression]] = {}
    for node in insn.reads:
        for reduction, conditions in _under_conditions(node, ()):
            found.setdefault(reduction, []).append(ex.LogicalAnd((True, *conditions)))
    return {reduction: (ex.LogicalOr(tuple(when)),) for reduction, when in found.items()}


def _under_conditions(
    node: Expression, conditions: tuple[Expression, ...]
) -> Iterator[tuple[ex.Reduction, tuple[Expression, ...]]]:
    if isinstance(node, ex.Reduction):
        yield node, conditions
    elif isinstance(node, ex.If) and not walk.reductions(node.condition):
        yield from _under_conditions(node.then, (*conditions, node.condition))
        yield from _under_conditions(node.else_, (*conditions, ex.LogicalNot(node.condition)))
    else:
        for part in walk.parts(node):
            yield from _under_conditions(part, conditions)
