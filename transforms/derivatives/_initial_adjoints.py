"""Adjoints that begin as 0, and to which is added: where the first sum can be the beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygen.analysis.access.footprint import fully_written
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.pairs.iteration_local import passes_nothing
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._expression_derivatives import total


def added(assignee: Expression, value: Expression) -> Expression | None:
    """Return what is added to an element, if that is what a value is."""
    if not isinstance(value, ex.Sum):
        return None
    rest = [child for child in value.children if child != assignee]
    if len(rest) != len(value.children) - 1:
        return None
    return total(rest)


def with_first_values(
    insns: list[Assignment], starts: Mapping[str, Assignment]
) -> list[Assignment]:
    """Return the instructions with scalars assigned at first that would be 0, and then added to."""
    for start in starts.values():
        name = ex.name_of(start.assignee)
        using = [i for i in insns if name in i.read_names or name in i.written_names]
        if len(using) < 2 or using[0] is not start or not isinstance(start.assignee, ex.Variable):
            continue
        changed = _assigned(using[1], name)
        if changed is None or changed.within_inames != start.within_inames:
            continue
        insns = [changed if i is using[1] else i for i in insns if i is not start]
    return insns


def without_starts(
    kernel: Kernel, starts: Mapping[str, Assignment], around: Mapping[str, frozenset[str]]
) -> Kernel:
    """Return the kernel without zeros where what comes first is added to each element once.

    Parameters:
        kernel: instructions that run backwards stand in it as they are executed.
        starts: what makes adjoints 0.
        around: for each of these, the loops around it that are not over elements.
    """
    for name, start in starts.items():
        if start.id not in kernel.instructions_by_id:
            continue
        bar = ex.name_of(start.assignee)
        first, *others = (
            i
            for i in kernel.instructions
            if i.id != start.id and bar in i.read_names.union(i.written_names)
        )
        there = _assigned(first, bar)
        if there is None or not _is_once(there, others, bar, around[name]):
            continue
        left = [there if i.id == first.id else i for i in kernel.instructions]
        gone = kernel.copy(instructions=tuple([i.without(start) for i in left if i.id != start.id]))
        if _suffices(gone, there, bar, around[name]):
            kernel = gone
    return kernel


def _assigned(insn: Instruction, name: str) -> Assignment | None:
    """Return what assigns a value instead of adding it; None if it does something else."""
    if not isinstance(insn, Assignment) or insn.written != name or insn.predicates:
        return None
    rest = added(insn.assignee, insn.expression)
    if rest is None:
        return None
    if any(name in walk.free_variables(e) for e in (rest, *ex.index_of(insn.assignee))):
        return None
    return insn.copy(expression=rest, atomicity=None)


def _is_once(
    first: Assignment, others: Sequence[Instruction], name: str, around: frozenset[str]
) -> bool:
    """Tell whether an instruction writes each element once, before all others touch that."""
    index = ex.index_of(first.assignee)
    places = {axis: _iname(s, first.within_inames - around) for axis, s in enumerate(index)}
    counted = [iname for iname in places.values() if iname is not None]
    if sorted(counted) != sorted(first.within_inames - around):
        return False
    for other in others:
        shared = first.within_inames & other.within_inames
        same = [axis for axis, iname in places.items() if iname in shared]
        accesses = [a for e in (*other.reads, *other.assignees) for a in walk.accesses(e)]
        for access in accesses:
            if ex.name_of(access) == name:
                subscripts = ex.index_of(access)
                if any(subscripts[axis] != index[axis] for axis in same):
                    return False
    return True


def _iname(subscript: Expression, inames: frozenset[str]) -> str | None:
    """Return the only one of some inames in a subscript, if each value of it is another element."""
    form = linear_form(subscript)
    if form is None or not all(isinstance(term, str) for term in form.terms):
        return None
    here = [str(term) for term in form.terms if term in inames]
    return here[0] if len(here) == 1 and form.terms[here[0]] in (1, -1) else None


def _suffices(kernel: Kernel, first: Assignment, name: str, around: frozenset[str]) -> bool:
    """Tell whether a first instruction writes all elements that are needed."""
    if isinstance(kernel.variables[name], TemporaryVariable):
        return passes_nothing(kernel, name, around)
    return fully_written(kernel.copy(instructions=(first.copy(depends_on=frozenset()),)), name)
