"""Groups that hand on what they found by atomic updates, instead of storing it for another launch.

part[g] = x                              s = 0
s = sum(h, part[h])      becomes         s = s + x   {atomic}

That both are the same is the contract of an atomic update: each one is made once, in some order.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.typing.determinism import check_deterministic
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import FinishNotPossible
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import Atomicity, update_of
from polygen.ir.domain import project_out, rename_dimension, universe
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assignment, Instruction, MultiAssignment
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Special
from polygen.ir.reduction import facts_of, identity_of, name_of
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Within, transformation
from polygen.transforms.arrays.array_rewriting import without_rules_about
from polygen.transforms.inames.unused_inames import domains_without, unneeded


@transformation
def finish_atomically(kernel: Kernel, insns: Within) -> Rearranged:
    """Let instructions that reduce what groups have stored be updates by these groups.

    Parameters:
        insns: the instructions; the value of each is a reduction of each element, once, of a
            temporary that another instruction alone writes, and no other one reads.

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
    part = _part(kernel, insn)
    kernel = without_rules_about(kernel, [part])
    insn = _assignment(kernel, insn.id)
    node = insn.expression
    assert isinstance(node, ex.Reduction)
    writer = _writer(kernel, insn, node)
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
    used = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in made))
    gone = unneeded(kernel.domains, {*node.inames} - used)
    return kernel.copy(
        instructions=tuple(made),
        temporaries=tuple([t for t in kernel.temporaries if t.name != part]),
        domains=domains_without(kernel.domains, gone),
    )


def _part(kernel: Kernel, insn: Assignment) -> str:
    """Return the temporary whose elements are reduced."""
    node = insn.expression
    assert isinstance(node, ex.Reduction)
    operand = expand(node.operand, kernel.rules)
    names = {t.name for t in kernel.temporaries}
    if not isinstance(operand, ex.Subscript | ex.Variable) or ex.name_of(operand) not in names:
        raise _refused(kernel, insn, "it does not reduce the elements of a temporary as they are")
    return ex.name_of(operand)


def _assignment(kernel: Kernel, insn_id: str) -> Assignment:
    insn = kernel.instruction(insn_id)
    assert isinstance(insn, Assignment)
    return insn


def _writer(kernel: Kernel, insn: Assignment, node: ex.Reduction) -> Assignment | MultiAssignment:
    """Return the instruction that stores what is reduced, for nothing else."""
    part = ex.name_of(node.operand)
    writer, *others = kernel.writers.get(part, (insn,))
    if others or not isinstance(writer, Assignment | MultiAssignment) or writer is insn:
        raise _refused(kernel, insn, f"no assignment alone writes '{part}'")
    used = [i.id for i in kernel.instructions if part in i.read_names and i.id != insn.id]
    if used:
        raise _refused(kernel, insn, f"'{used[0]}' reads '{part}', too")
    if len(writer.assignees) > 1:
        raise _refused(kernel, insn, f"'{writer.id}' assigns more than '{part}'")
    if not _is_each_once(kernel, insn, writer, node):
        raise _refused(kernel, insn, f"it may not reduce each element of '{part}' once")
    return writer


def _is_each_once(
    kernel: Kernel, insn: Assignment, writer: Assignment | MultiAssignment, node: ex.Reduction
) -> bool:
    """Tell whether each instance that stores an element belongs to one term of the reduction."""
    around = insn.within_inames
    groups = sorted(writer.within_inames - around)
    if not around <= writer.within_inames:
        return False
    terms = [iname + OTHER for iname in node.inames]
    other = dict(zip(node.inames, map(ex.Variable, terms), strict=True))
    read = ex.index_of(walk.substitute(node.operand, other))
    (assignee,) = writer.assignees
    stored = domain_of(kernel, writer.within_inames)
    asked = domain_of(kernel, around.union(node.inames))
    for iname in node.inames:
        asked = rename_dimension(asked, iname, iname + OTHER)
    pairs = stored.intersect(asked)
    for one, two in zip(ex.index_of(assignee), read, strict=True):
        same = condition_set(ex.Comparison(one, "==", two))
        if same is None:
            return False
        pairs = pairs.intersect(same)
    known = kernel.assumptions.flat
    return all(
        known.intersect(whole).is_subset(project_out(pairs, gone)) and _is_function(pairs, gone)
        for whole, gone in ((stored, terms), (asked, groups))
    )


def _is_function(pairs: isl.Set, names: Sequence[str]) -> bool:
    """Tell whether the other names decide what some are."""
    twice, same = pairs, universe()
    for name in names:
        second = name + OTHER + OTHER
        twice = rename_dimension(twice, name, second)
        equal = condition_set(ex.Comparison(ex.Variable(name), "==", ex.Variable(second)))
        assert equal is not None
        same = same.intersect(equal)
    return bool(pairs.intersect(twice).is_subset(same))


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
