"""Finds element-wise producers of what a reduction reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from polygen.analysis.access.accesses import Reference, references
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.transforms.loops.size_estimates import likely_instances


@dataclass(frozen=True)
class Producer:
    """A variable each element of which one expression gives.

    Attributes:
        name: the variable.
        writer: the id of the instruction that computes it.
        readers: those of the reductions that read it.
        why_not: why it has to stay an array, or None.
        is_kept: whether it costs no memory that work items share: it may stay as well.
    """

    name: str
    writer: str
    readers: tuple[str, ...]
    why_not: str | None
    is_kept: bool


def producers(kernel: Kernel, insn_id: str) -> Iterator[Producer]:
    """Yield what an instruction reads that is computed element by element.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
    """
    for name in dict.fromkeys(r.name for r in _reads(kernel, insn_id)):
        writer = _definition(kernel, name)
        if writer is not None and writer.id != insn_id:
            readers = [i.id for i in kernel.expanded.instructions if name in i.read_names]
            yield Producer(
                name,
                writer.id,
                tuple(readers),
                _why_not(kernel, name, writer, readers),
                kernel.address_space(name) is AddressSpace.PRIVATE,
            )


def _reads(kernel: Kernel, insn_id: str) -> Iterator[Reference]:
    insn = kernel.expanded.instruction(insn_id)
    return (r for r in references(insn) if not r.is_write and r.name in kernel.writers)


def _definition(kernel: Kernel, name: str) -> Assignment | None:
    """Return the only instruction that writes a variable, if it does so element by element."""
    writers = kernel.writers[name]
    if len(writers) != 1:
        return None
    writer = kernel.expanded.instruction(writers[0].id)
    if not isinstance(writer, Assignment) or writer.predicates or writer.reductions:
        return None
    if name in writer.read_names or writer.atomicity is not None:
        return None
    index = ex.index_of(writer.assignee)
    found = [i.name for i in index if isinstance(i, ex.Variable) and i.name in kernel.inames]
    are_inames = len(found) == len(index) and len(set(found)) == len(found)
    return writer if are_inames else None


def _why_not(kernel: Kernel, name: str, writer: Assignment, readers: Iterable[str]) -> str | None:
    if not isinstance(kernel.variables[name], TemporaryVariable):
        return f"'{name}' is an argument, which whoever calls may read"
    values = likely_instances(kernel, writer.within_inames)
    for reader in readers:
        insn = kernel.expanded.instruction(reader)
        if not insn.reductions:
            return f"'{reader}' reads '{name}', too, and is no reduction"
        for reference in _reads(kernel, reader):
            if reference.name != name:
                continue
            reads = likely_instances(kernel, reference.inames)
            if reads > values:
                times = -(-reads // max(values, 1))
                return f"'{reader}' reads each element of '{name}' about {times} times"
    return None
