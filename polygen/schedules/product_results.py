"""Lets sums of products be part of the statement that uses them, where a scalar is between.

    acc = 0                                       c[i,j] = alpha*sum(k, a[i,k]*b[k,j]) + beta*c[i,j]
    acc = acc + sum(k, a[i,k]*b[k,j])      ->
    c[i,j] = alpha*acc + beta*c[i,j]

A product in tiles has many results at once: of a scalar there would be one.
"""

from __future__ import annotations

from polygen.errors import UserError
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.transforms.reductions.absorb_identity import absorb_identity
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst


def with_result(kernel: Kernel, insn_id: str) -> tuple[Kernel, str]:
    """Return the kernel with a sum in the statement that uses it, and the id of that.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        insn_id: an instruction with a sum.  Where its result is no scalar of the same iteration,
            or one that others need, it stays.
    """
    if insn_id not in kernel.instructions_by_id:
        return kernel, insn_id
    try:
        absorbed = absorb_identity(kernel, insn_id)
    except UserError:
        absorbed = kernel
    name = _scalar(absorbed, insn_id)
    reader = None if name is None else _only_reader(absorbed, insn_id, name)
    if name is None or reader is None:
        return kernel, insn_id
    try:
        return expand_subst(assignment_to_subst(absorbed, name)), reader.id
    except UserError:
        return kernel, insn_id


def _scalar(kernel: Kernel, insn_id: str) -> str | None:
    """Return the scalar of its iteration that an instruction writes, if it is the only one."""
    (name, *others) = kernel.instruction(insn_id).written_names
    variable = kernel.variables.get(name)
    if others or not isinstance(variable, TemporaryVariable) or variable.shape:
        return None
    is_own = kernel.address_space(name) is AddressSpace.PRIVATE
    return name if is_own and len(kernel.writers[name]) == 1 else None


def _only_reader(kernel: Kernel, insn_id: str, name: str) -> Assignment | None:
    """Return the only instruction that reads a scalar, if it is in the same loops."""
    plain = kernel.expanded
    readers = [insn for insn in plain.instructions if name in insn.read_names]
    if any(name in domain.parameters for domain in kernel.domains) or len(readers) != 1:
        return None
    (reader,) = readers
    loops = kernel.instruction(insn_id).within_inames
    is_plain = isinstance(reader, Assignment) and not reader.predicates
    if not is_plain or reader.within_inames != loops or reader.id not in kernel.instructions_by_id:
        return None
    return reader if isinstance(reader, Assignment) else None
