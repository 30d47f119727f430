"""Counting instances: a kernel that tells which of its instances are executed.

To each value that is assigned, and to each contribution to a reduction, ``0*number*i*j`` is added,
where i, j are the inames.  It is 0, but an interpreter sees the values that the inames have, also
where a loop was unrolled and its iname replaced by numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, CInstruction, KernelCall
from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import MARK

_CONDITIONS = (ex.Comparison, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot)


@dataclass(frozen=True)
class Traced:
    """A kernel with marks.

    Attributes:
        kernel: the kernel.
        insn_ids: the instruction of each mark.
    """

    kernel: Kernel
    insn_ids: tuple[str, ...]


def traced(kernel: Kernel) -> Traced:
    """Return the kernel with a mark in each instruction and each reduction."""
    insn_ids: list[str] = []

    def marked(node: Expression, insn: Assigning, inames: tuple[str, ...]) -> Expression:
        insn_ids.append(insn.id)
        mark = ex.product_of(MARK, len(insn_ids) - 1, *map(ex.Variable, inames))
        if isinstance(node, _CONDITIONS):
            return ex.LogicalAnd((node, ex.Comparison(mark, "==", 0)))
        return ex.sum_of(node, mark)

    def inside(node: Expression, insn: Assigning, inames: tuple[str, ...]) -> Expression:
        if isinstance(node, ex.Reduction):
            within = (*inames, *node.inames)
            operand = marked(inside(node.operand, insn, within), insn, within)
            return ex.Reduction(node.operation, node.inames, operand)
        return walk.rebuild(node, tuple(inside(p, insn, inames) for p in walk.parts(node)))

    def instruction(insn: Assigning) -> Assigning:
        if isinstance(insn, CInstruction | KernelCall):
            return insn
        inames = tuple(sorted(insn.within_inames))
        first, *others = insn.values
        if not any(walk.reductions(p) for p in insn.predicates):
            # Otherwise a reduction may be computed although its value is not needed.
            first, *others = [inside(value, insn, inames) for value in insn.values]
        if insn.atomicity is not None and others:
            # The first is the old value.
            fetched = insn.values[0], marked(others[0], insn, inames)
            return insn.with_pairs(tuple(zip(insn.assignees, fetched, strict=True)))
        if insn.atomicity is not None and not insn.atomicity.init:
            # An update stays one.
            first = _updated(first, insn, lambda node: marked(node, insn, inames))
        else:
            first = marked(first, insn, inames)
        values = (first, *others)
        return insn.with_pairs(tuple(zip(insn.assignees, values, strict=True)))

    new = kernel.copy(
        instructions=tuple(
            instruction(insn) if isinstance(insn, Assigning) else insn
            for insn in kernel.instructions
        )
    )
    return Traced(new, tuple(insn_ids))


def _updated(value: Any, insn: Assigning, marked: Callable[[Expression], Expression]) -> Expression:
    """Return the value of an update with a mark in what the old value is combined with."""
    if insn.atomicity is not None and insn.atomicity.operation is not None:
        assert isinstance(insn, Assignment)
        assert insn.update is not None
        old = insn.update.operand  # which stands there once in these kernels
        new = marked(old)
        return walk.rewrite(value, lambda part: new if part == old else part)
    (target,) = insn.assignees
    return walk.rebuild(value, tuple([c if c == target else marked(c) for c in value.children]))
