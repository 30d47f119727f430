"""Groups that hand on what they found by atomic updates, instead of storing it for another launch.

part[g] = x                              s = 0
s = sum(h, part[h])      becomes         s = s + x   {atomic}

That both are the same is the contract of an atomic update: each one is made once, in some order.
"""

from __future__ import annotations

from polygen.analysis.typing.determinism import check_deterministic
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import FinishNotPossible
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import Atomicity, update_of
from polygen.ir.dtype import DType
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Special
from polygen.ir.reduction import facts_of, identity_of, name_of
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Within, transformation
from polygen.transforms.inames.unused_inames import domains_without, unneeded


@transformation
def finish_atomically(kernel: Kernel, insns: Within) -> Rearranged:
    """Let instructions that reduce what groups have stored be updates by these groups.

    Parameters:
        insns: the instructions; the value of each is a reduction over an array that another
            instruction alone writes.

    Raises:
        FinishNotPossible: if one is more than that, or what it assigns to cannot be updated so.
        NotDeterministic: if results would depend on the order, which the options rule out.
        TypeNotFound: if its type is not known.
    """
    new = kernel
    for insn in matching(kernel, insns):
        new = _updating(new, _checked(kernel, insn))
    check_made(new)
    if new.options.deterministic:
        check_deterministic(new)
    return Rearranged(new, computes_as=kernel)


def _checked(kernel: Kernel, insn: Instruction) -> Assignment:
    """Return the instruction, if what it assigns to can be updated by groups."""
    if not isinstance(insn, Assignment) or not isinstance(insn.expression, ex.Reduction):
        raise _refused(kernel, insn, "its value is not one result of a reduction, and nothing more")
    name = ex.name_of(insn.assignee)
    if kernel.address_space(name) is not AddressSpace.GLOBAL:
        raise _refused(kernel, insn, f"'{name}' is not in global memory")
    after = _those_after(kernel, insn)
    users = [i.id for i in kernel.instructions if name in i.read_names.union(i.written_names)]
    if any(user not in after for user in users):
        raise _refused(kernel, insn, f"'{name}' is used before, too")
    return insn


def _those_after(kernel: Kernel, insn: Instruction) -> set[str]:
    """Return the instructions that depend on one, and itself."""
    found = {insn.id}
    while new := {i.id for i in kernel.instructions if found & i.depends_on} - found:
        found |= new
    return found


def _updating(kernel: Kernel, insn: Assignment) -> Kernel:
    """Return the kernel in which groups update what an instruction assigns to."""
    node = insn.expression
    assert isinstance(node, ex.Reduction)
    part = ex.name_of(node.operand)
    (writer,) = kernel.writers[part]
    dtype = _dtype(kernel, insn, node)
    combined = facts_of(node.operation).combined
    (value,) = combined((insn.assignee,), writer.values, (dtype,))
    own = node.operation if isinstance(node.operation, Special) else None
    atomicity = Atomicity(operation=own if own and own.definition else None)
    if update_of(insn.assignee, value, atomicity.operation) is None:
        raise _refused(kernel, insn, f"no atomic update combines as '{name_of(node.operation)}'")
    (identity,) = identity_of(node.operation, (dtype,))
    start = insn.copy(
        id=kernel.new_name(f"{insn.id}_init"),
        expression=identity,
        depends_on=insn.depends_on - {writer.id},
    )
    update = insn.copy(
        expression=value,
        within_inames=writer.within_inames,
        depends_on=writer.depends_on | insn.depends_on - {writer.id} | {start.id},
        happens_after=insn.happens_after | writer.happens_after,
        atomicity=atomicity,
    )
    groups = writer.within_inames - insn.within_inames
    # All waits for the start, so that what groups keep for themselves needs no other launch.
    made: list[Instruction] = []
    for other in kernel.instructions:
        if other.id == writer.id:
            continue
        new = update if other.id == insn.id else other
        if groups <= new.within_inames:
            made += [start] if start not in made else []
            new = new.copy(depends_on=new.depends_on | {start.id})
        made.append(new)
    gone = unneeded(kernel.domains, node.inames)
    return kernel.copy(
        instructions=tuple(made),
        temporaries=tuple([t for t in kernel.temporaries if t.name != part]),
        domains=domains_without(kernel.domains, gone),
    )


def _dtype(kernel: Kernel, insn: Assignment, node: ex.Reduction) -> DType:
    """Return the type that a reduction is computed in, if results are stored in that type."""
    typed = infer_types(kernel)
    found = typed.variables[ex.name_of(insn.assignee)].dtype
    (computed,) = reduction_types(node, kinds(typed.expanded))
    if found != computed:
        raise _refused(kernel, insn, f"it is computed as {computed}, and stored as {found}")
    return computed


def _refused(kernel: Kernel, insn: Instruction, why: str) -> FinishNotPossible:
    return FinishNotPossible(
        f"groups cannot update what '{insn.id}' assigns to: {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn.id),
        remedy='finish in a second launch (finish="two_pass"), or with one group (blocks=1)',
    )
