"""Finds variables of a cluster in parts that one of its blocks uses alone."""

from __future__ import annotations

from polygen.analysis.access.accesses import references
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.instruction import Assigning, CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag

AXIS = 2  # along which work items are in blocks of their own


def parts_of_blocks(kernel: Kernel, temporary: TemporaryVariable) -> int | None:
    """Return how many equal parts a variable has, one after the other, of which each is a block's.

    The first subscript of all that uses it is an iname along ``l.2``, so that work items with
    another index there do not meet its elements.  None if it is not like that.

    Parameters:
        kernel: with types, rules expanded.
        temporary: a temporary of it.
    """
    name, shape = temporary.name, temporary.shape
    is_local = kernel.address_space(name) is AddressSpace.LOCAL
    if not (kernel.options.clusters and is_local and shape) or temporary.dim_tags is not None:
        return None
    for insn in kernel.instructions:
        if name not in insn.read_names.union(insn.written_names):
            continue
        if isinstance(insn, CInstruction) or not isinstance(insn, Assigning):
            return None
        uses = [use for use in references(insn) if use.name == name]
        if not uses or not all(use.index and _is_block(kernel, use.index[0]) for use in uses):
            return None
    return shape[0] if isinstance(shape[0], int) else None


def _is_block(kernel: Kernel, index: ex.Expression) -> bool:
    return isinstance(index, ex.Variable) and kernel.tags.get(index.name) == LocalTag(AXIS)
