"""Finds the origins of what the kernels before and after a step read."""

from __future__ import annotations

from typing import TypeAlias

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Frame, Names, at_source
from polygen.analysis.dataflow.computed_difference import END, At
from polygen.analysis.dataflow.read_sources import (
    Source,
    certain_final_sources,
    certain_sources,
    final_sources,
    overlapping,
    sources,
)
from polygen.analysis.typing.kept_types import keeps_type
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

# Of a read at points of a frame: the instruction that stored all of it, at what points, and what.
Stored: TypeAlias = tuple[Frame, isl.Set, Expression]

NOWHERE = (Source(None, isl.Set("{ : }")),)


class Origins:
    """The writes that reads in two kernels see.

    Parameters:
        names: makes the names of a context.

    Attributes:
        old: the kernel before a step.
        new: the one after it.
    """

    def __init__(self, old: Kernel, new: Kernel, names: Names) -> None:
        self.old, self.new = old, new
        self._names = names

    def of(self, node: Expression, frame: Frame) -> tuple[Source, ...] | None:
        """Return where what is read comes from; None where data decides."""
        name = ex.name_of(node)
        names = overlapping(frame.kernel, name)
        if not any(n in frame.kernel.writers for n in names):
            return NOWHERE
        if len(names) > 1:
            return None
        if frame.insn is END:
            return final_sources(frame.kernel, name)
        return sources(frame.kernel, frame.reference(node))

    def certain(self, node: Expression, frame: Frame) -> tuple[Source, ...] | None:
        """Return the last writes before a read of those that are certain; None if unknown."""
        name = ex.name_of(node)
        if len(overlapping(frame.kernel, name)) > 1:
            return None
        if frame.insn is END:
            return certain_final_sources(frame.kernel, name)
        return certain_sources(frame.kernel, frame.reference(node))

    def is_new(self, source: Source) -> bool:
        """Tell whether only the kernel after the step has what writes a value."""
        return source.writer is not None and source.writer not in self.old.instructions_by_id

    def is_gone(self, source: Source) -> bool:
        """Tell whether only the kernel before the step has what writes a value."""
        return source.writer is not None and source.writer not in self.new.instructions_by_id

    def at(self, kernel: Kernel, source: Source) -> At:
        """Return an instance of what writes a value, under new names."""
        if source.writer is None:
            return At(None, {})
        inames = kernel.instruction(source.writer).within_inames
        return At(source.writer, self._names.fresh(inames))

    def unread(self, kernel: Kernel, source: Source) -> dict[str, str]:
        """Return names for the instances of a writer that nothing else asks for."""
        if source.writer is None:
            return {}
        return self._names.fresh(kernel.instruction(source.writer).within_inames)

    def followed(
        self, kernel: Kernel, source: Source, reader: Frame, points: isl.Set
    ) -> tuple[Frame, isl.Set]:
        """Return the frame of the writer that a value comes from, and the points in it."""
        if source.writer is None:
            raise InternalError("what was there before the kernel has no writer")
        writer = kernel.assignment(source.writer)
        names = self._names.fresh(writer.within_inames)
        frame = reader.followed(writer, names, source.values)
        return frame, points.intersect(at_source(source, reader.names, names))

    def stored(self, node: Expression, frame: Frame, points: isl.Set) -> Stored | None:
        """Return what one instruction stored of what is read, if only that kernel has it."""
        if not is_access(node, frame):
            return None
        found: list[Stored] = []
        for source in self.of(node, frame) or ():
            if source.writer is None or not (self.is_new(source) or self.is_gone(source)):
                unread = self.unread(frame.kernel, source)
                if not points.intersect(at_source(source, frame.names, unread)).is_empty():
                    return None
                continue
            there, left = self.followed(frame.kernel, source, frame, points)
            if not left.is_empty():
                found.append((there, left, there.insn.values[source.position]))
        if len(found) != 1:
            return None
        writer = found[0][0].insn.id
        return found[0] if keeps_type(frame.kernel, ex.name_of(node), writer) else None


def is_access(node: Expression, frame: Frame) -> bool:
    """Tell whether an expression is a variable's or an element's value, not that of an iname."""
    if isinstance(node, ex.Subscript):
        return True
    return isinstance(node, ex.Variable) and node.name in frame.kernel.variables
