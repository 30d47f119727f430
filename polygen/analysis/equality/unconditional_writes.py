"""Kernels in which no condition that is data decides whether something is written.

``a[i] = x {if=c[i] > 0}`` leaves to data whether something is written.  The same is done by
``a[i] = if(c[i] > 0, x, a[i])``, which writes for certain: then the dataflow is known.
"""

from __future__ import annotations

from dataclasses import replace

from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel


def total(kernel: Kernel) -> Kernel:
    """Return a kernel that computes the same, with conditions that are data in its values."""
    names = integer_parameters(kernel).union(kernel.inames)
    found = tuple([_total(insn, names) for insn in kernel.instructions])
    return kernel.copy(instructions=found)


def _total(insn: Instruction, names: frozenset[str]) -> Instruction:
    if not isinstance(insn, Assignment) or insn.atomicity is not None:
        return insn
    parts = [part for predicate in insn.predicates for part in walk.conjuncts(predicate)]
    data = tuple([part for part in parts if condition_set(part, names) is None])
    if not data:
        return insn
    rest = tuple([part for part in parts if part not in data])
    condition: Expression = data[0] if len(data) == 1 else ex.LogicalAnd(data)
    value = ex.If(condition, insn.expression, insn.assignee)
    return replace(insn, expression=value, predicates=rest)
