"""Instructions in iterations that a step adds to loops: what they write there, nothing needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from polygen.analysis.dataflow.needed_instances import is_free_of_data
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction
from polygen.ir.kernel import Kernel

Conditions: TypeAlias = Sequence[Expression]


def guarded(
    kernel: Kernel,
    insn: Instruction,
    inames: AbstractSet[str],
    there: Conditions,
    readable: Callable[[Expression], Conditions],
    *,
    by_data: bool,
) -> Instruction:
    """Return an instruction that does no harm in iterations that are added.

    Parameters:
        kernel: the kernel before that.
        insn: one of its instructions.
        inames: the loops that have further iterations.
        there: the conditions that an iteration was there before.
        readable: the conditions under which an element may be read.
        by_data: whether data decides where the loops end.
    """
    if insn.within_inames.isdisjoint(inames) or not isinstance(insn, Assigning):
        return insn
    if by_data or not _has_scratch(kernel, insn, inames):
        return insn.copy(predicates=(*there, *insn.predicates))

    def value(node: Expression) -> Expression:
        if inames.isdisjoint(walk.free_variables(node)):
            return node
        if isinstance(node, ex.Subscript):
            conditions = readable(node)
            return ex.If(_all(conditions), node, 0) if conditions else node
        return walk.rebuild(node, tuple([value(part) for part in walk.parts(node)]))

    return insn.map_expressions(value)


def _all(conditions: Conditions) -> Expression:
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))


def _has_scratch(kernel: Kernel, insn: Assigning, inames: AbstractSet[str]) -> bool:
    """Tell whether what an instruction writes is its loops' own, as far as can be seen here."""
    if isinstance(insn, CInstruction) or insn.atomicity is not None:
        return False
    if not is_free_of_data(kernel, insn.id):
        return False
    asked = (*insn.assignees, *insn.predicates)
    if not all(inames.isdisjoint(walk.free_variables(node)) for node in asked):
        return False
    return all(isinstance(kernel.variables[n], TemporaryVariable) for n in insn.written_names)
