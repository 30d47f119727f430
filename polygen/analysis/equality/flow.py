"""From what is read to what was written: one step back in the dataflow of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import islpy as isl
import numpy as np

from polygen.analysis.dataflow.comparison_context import Frame, Names, at_source
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.dataflow.read_sources import Source, final_sources, overlapping, sources
from polygen.analysis.equality.compared_values import Value, is_whole, kept_casts, kind_of
from polygen.analysis.typing.kept_types import known_kinds
from polygen.analysis.typing.kinds import INT64, is_index, same_kind
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, is_bfloat16
from polygen.ir.instruction import Assigning, CInstruction


@dataclass
class Flow:
    """Follows reads, and keeps what stood in the way.

    Attributes:
        names: makes the names of instances.
        obstacles: why some reads could not be followed.
    """

    names: Names = field(default_factory=Names)
    obstacles: dict[str, None] = field(default_factory=dict[str, None])

    def written(self, read: Value, points: isl.Set) -> Iterator[tuple[Value, isl.Set]]:
        """Yield what was written of what is read, and at which points; none where data decides.

        The points have names for the instances that wrote; each reader has one of these.
        """
        for source in self.sources(read):
            if source.writer is None:
                inner = points.intersect(at_source(source, read.frame.names, {}))
                if not inner.is_empty():
                    yield replace(read, was_there=True), inner
                continue
            writer = read.kernel.assignment(source.writer)
            names = self.names.fresh(writer.within_inames)
            inner = points.intersect(at_source(source, read.frame.names, names))
            value = None if inner.is_empty() else self.stored(read, writer, source.position, names)
            if value is not None:
                yield value, inner.detect_equalities()

    def sources(self, read: Value) -> tuple[Source, ...]:
        """Return where what is read comes from; nothing where data decides."""
        kernel, name = read.kernel, ex.name_of(read.node)
        names = overlapping(kernel, name)
        if not any(n in kernel.writers for n in names):
            return (Source(None, isl.Set("{ : }")),)
        found: tuple[Source, ...] | None = None
        if len(names) == 1 and read.frame.insn is END:
            found = final_sources(kernel, name)
        elif len(names) == 1:
            found = sources(kernel, read.frame.reference(read.node))
        if found is None:
            self.note(f"data decides which write of '{name}' is seen in kernel '{kernel.name}'")
        return found or ()

    def stored(
        self, read: Value, writer: Assigning, position: int, names: dict[str, str]
    ) -> Value | None:
        """Return what an instruction stored, converted to the type of where it did."""
        if isinstance(writer, CInstruction):
            self.note(f"'{writer.id}' is verbatim C")
            return None
        kernel, node = read.kernel, writer.values[position]
        frame = Frame(kernel, writer, names, writer.predicates)
        name = ex.name_of(read.node)
        kind, dtype = known_kinds(kernel).get(name), kernel.array(name).dtype
        casts: tuple[DType, ...] = read.casts
        if dtype is not None and is_bfloat16(dtype):  # which it is rounded to, and not computed in
            casts = (*casts, dtype)
        elif dtype is None and is_index(kind_of(kernel, node)) and is_whole(kind or float):
            # An index: as wide as it has to be.
            casts = casts if frame.integer(node) is not None else (*casts, INT64)
        elif isinstance(kind, np.dtype) and not same_kind(kind, kind_of(kernel, node)):
            casts = (*casts, kind)
        return Value(node, frame, kept_casts(kind_of(kernel, node), casts) if casts else ())

    def note(self, obstacle: str) -> None:
        """Keep why something could not be decided."""
        self.obstacles.setdefault(obstacle)
