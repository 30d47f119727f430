"""Finds the instance of an instruction that has computed an element that another reads.

    t[j] = index[j] + 1   {id=t}
    a[t[2*i]] = 1         {id=put, dep=t}

What ``put`` reads, ``t`` has computed at ``j = 2*i``: if it is the only writer, comes before, and
its target is subscripted by inames alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.order.instance_order import order_of
from polygen.ir import expression as ex
from polygen.ir.any_instruction import Assigning, Instruction, Opaque
from polygen.ir.array import GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


def only_writer(kernel: Kernel, name: str, reader: Instruction) -> Assigning | None:
    """Return the one instruction that computes a variable, if it comes before a reader."""
    writers = kernel.writers.get(name, ())
    variable = kernel.variables.get(name)
    if len(writers) != 1 or (isinstance(variable, GlobalArg) and variable.may_alias):
        return None
    (writer,) = writers
    if isinstance(writer, Opaque) or writer.predicates or writer.id == reader.id:
        return None
    return writer if order_of(kernel).depends(writer.id, reader.id) else None


def written_at(
    kernel: Kernel, writer: Assigning, reader: Instruction, name: str, index: tuple[Expression, ...]
) -> Mapping[str, Expression] | None:
    """Return what the inames of a writer are where it computes what a reader reads.

    Returns:
        An expression of the reader's inames for each; None if that is not known.
    """
    (target,) = (node for node in writer.assignees if ex.name_of(node) == name)
    loops = order_of(kernel).shared_loops(writer.id, reader.id)
    found: dict[str, Expression] = {}
    for subscript, read in zip(ex.index_of(target), index, strict=True):
        iname = subscript.name if isinstance(subscript, ex.Variable) else ""
        if iname not in writer.within_inames or iname in found:
            return None
        if iname in loops and read != subscript:
            return None  # of an iteration that may be yet to come
        found[iname] = read
    others = writer.within_inames - found.keys()
    if not others <= reader.within_inames:
        return None
    return {**found, **{iname: ex.Variable(iname) for iname in sorted(others)}}
