"""Writes under conditions that are data, as writes that are certain: a proof of steps on these.

``out[i] = x`` under the condition ``c[i] > 0`` leaves what ``out[i] = if(c[i] > 0, x, out[i])``
leaves.  The latter writes in all instances, so which write a read sees is known.  It also reads,
and writes where the former does not: so kernels with such instructions have to be well formed
themselves, every two instances that touch one element in an order, whatever the conditions are.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.analysis.typing.kinds import Kind, same_kind
from polygen.errors import TypeMismatch, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel


def with_choices(old: Kernel, new: Kernel) -> tuple[Kernel, Kernel] | None:
    """Return two kernels in which choices are written instead of writes that data decides on.

    None if there are no such writes.

    Parameters:
        old: a kernel.
        new: another one.
    """
    both = _with_choices(old), _with_choices(new)
    return None if both[0] is old or both[1] is new else both


def _with_choices(kernel: Kernel) -> Kernel:
    if not any(insn.predicates for insn in kernel.instructions):
        return kernel
    try:
        known = kinds(infer_types(kernel, complete=False))
    except TypeMismatch:  # which whoever needs all types will hear of
        return kernel
    made = tuple([_with_choice(kernel, insn, known) for insn in kernel.instructions])
    if all(a is b for a, b in zip(made, kernel.instructions, strict=True)):
        return kernel
    return kernel.copy(instructions=made)


def _with_choice(kernel: Kernel, insn: Instruction, known: Mapping[str, Kind]) -> Instruction:
    if not isinstance(insn, Assignment) or insn.atomicity is not None or insn.asynchronous:
        return insn
    integers = integer_parameters(kernel).union(kernel.inames)
    parts = [part for p in insn.predicates for part in walk.conjuncts(p)]
    data = [p for p in parts if not _is_affine(p, integers)]
    if not data or not _has_value_before(kernel, insn):
        return insn
    condition = data[0] if len(data) == 1 else ex.LogicalAnd(tuple(data))
    choice = ex.If(condition, insn.expression, insn.assignee)
    if not _has_type(choice, insn.assignee, known):
        return insn
    return insn.copy(expression=choice, predicates=tuple([p for p in parts if p not in data]))


def _is_affine(condition: Expression, integers: frozenset[str]) -> bool:
    return walk.free_variables(condition) <= integers and condition_set(condition) is not None


def _has_value_before(kernel: Kernel, insn: Assignment) -> bool:
    """Tell whether there may be a value that is kept: in an argument, or one that is written."""
    array = kernel.variables[insn.written]
    if isinstance(array, GlobalArg):
        return True
    is_written = any(not w.predicates for w in kernel.writers[insn.written])
    return isinstance(array, TemporaryVariable) and is_written


def _has_type(choice: Expression, assignee: Expression, known: Mapping[str, Kind]) -> bool:
    """Tell whether what is chosen has the type of the variable: so it is not rounded twice."""
    try:
        return same_kind(type_of(choice, known), type_of(assignee, known))
    except (TypeMismatch, TypeNotFound):
        return False
