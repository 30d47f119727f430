"""Forward substitution: what is computed element by element is computed where it is used.

A launch that is saved, and an array that is not written, are worth more on a GPU than operations
done twice: up to a bound, and as long as expressions stay short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsIndex

from polygen.analysis.access.accesses import references
from polygen.errors import (
    MissingArgument,
    NotCountable,
    TypeNotFound,
    UserError,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Assigning, Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.transforms.inames.remove_unused_inames import remove_unused_inames
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.tuning.direct_dependencies import with_direct_dependencies
from polygen.tuning.work import points

_MOST_NODES = 200  # of an expression: what is longer is hard to read, and compilers take long
_MOST_AGAIN = 1 << 27  # operations done twice: a few microseconds, as long as a launch


def substituted(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], *, with_scalars: bool = True
) -> Kernel:
    """Return the kernel in which readers compute what is computed element by element.

    Parameters:
        kernel: the kernel.
        sizes: the value of each size.
        with_scalars: also where a scalar is read in its own iteration: it is in a register.
    """
    used = [i for i in kernel.inames if any(i in x.within_inames for x in kernel.instructions)]
    before = kernel
    for insn in kernel.expanded.assignments:
        if not (isinstance(insn, Assignment) and _is_element_wise(kernel.expanded, insn)):
            continue
        if with_scalars or not _is_in_register(kernel, insn):
            kernel = _in_readers(kernel, insn.id, sizes)
    return (
        kernel if kernel is before else with_direct_dependencies(remove_unused_inames(kernel, used))
    )


def _is_element_wise(kernel: Kernel, insn: Assignment) -> bool:
    """Tell whether an instruction alone computes a variable, each element from others."""
    name = ex.name_of(insn.assignee)
    index = ex.index_of(insn.assignee)
    inames = {i.name for i in index if isinstance(i, ex.Variable) and i.name in kernel.inames}
    return (
        len(kernel.writers[name]) == 1
        and not (insn.predicates or insn.reductions or insn.atomicity)
        and name not in insn.read_names
        and (not index or len(inames) == len(index))
        and not any(is_parallel(kernel.tags.get(i)) for i in insn.within_inames)
    )


def _is_in_register(kernel: Kernel, insn: Assignment) -> bool:
    """Tell whether a scalar is read in its own iteration alone."""
    readers = [i for i in kernel.expanded.instructions if insn.written in i.read_names]
    return isinstance(insn.assignee, ex.Variable) and all(
        isinstance(reader, Assigning)
        and not reader.reductions
        and reader.within_inames == insn.within_inames
        for reader in readers
    )


def _in_readers(kernel: Kernel, insn_id: str, sizes: Mapping[str, SupportsIndex]) -> Kernel:
    """Return the kernel in which readers compute a variable; as it is, where that is refused."""
    writer = kernel.assignment(insn_id)
    (name,) = writer.written_names
    readers = [insn for insn in kernel.instructions if name in insn.read_names]
    able = [insn for insn in readers if isinstance(insn, Assigning)]
    if not able or len(able) < len(readers):
        return kernel
    if not all(_is_worth_it(kernel, writer, name, reader, sizes) for reader in able):
        return kernel
    try:
        new = assignment_to_subst(kernel, name)
        return expand_subst(new, [f"id:{reader.id}" for reader in readers])
    except (MissingArgument, TypeNotFound):
        raise
    except UserError:  # what it is computed of differs there, say: it stays in memory
        return kernel


def _is_worth_it(
    kernel: Kernel,
    writer: Assigning,
    name: str,
    reader: Assigning,
    sizes: Mapping[str, SupportsIndex],
) -> bool:
    """Tell whether a reader may as well compute what it reads."""
    plain = kernel.expanded
    uses = [u for u in references(plain.instruction(reader.id)) if u.name == name]
    nodes = sum(1 for value in writer.values for _ in walk.subexpressions(value))
    length = sum(1 for value in reader.values for _ in walk.subexpressions(value))
    if length + nodes * len(uses) > _MOST_NODES:
        return False
    try:
        once = points(plain, writer.within_inames, sizes)
        # Compilers compute once what is equal: one element that an instruction reads several times.
        read = {(use.index, use.inames) for use in uses}
        again = sum(points(plain, inames, sizes) for _, inames in read)
    except NotCountable:
        return False
    return (again - once) * nodes <= _MOST_AGAIN
