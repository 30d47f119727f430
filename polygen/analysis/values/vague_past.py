"""Writes that data decides about, between the last certain write of an element and its read.

See `polygen.analysis.values.same_past`: two reads see the same if the last writes that are certain
to be made left the same there, and since then the same other writes may have been made, in one
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Context, Frame, executed
from polygen.analysis.dataflow.read_sources import vague_writers
from polygen.analysis.values.same_past import (
    Both,
    Pasts,
    Touch,
    before,
    conflicting,
    ordered_alike,
    read_by,
    written_by,
)
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Start:
    """A write: which instruction's, and what its inames are called; none for the kernel's start."""

    writer: str | None
    names: Mapping[str, str]


@dataclass(frozen=True)
class _Side:
    """A read of one kernel, and the write since which others are looked at."""

    start: Start
    read: Touch


def _between(side: _Side, write: Touch) -> isl.Set | None:
    """Return which writes of what is read come before it, and after another write of it.

    None if that is not known.
    """
    found = before(write, side.read)
    if found is None:
        return None
    found = found.intersect(conflicting(write, side.read))
    if side.start.writer is None:
        return found
    assert write.access is not None
    starts = written_by(write.kernel, side.start.writer, write.access.name)
    if len(starts) != 1:
        return None
    after = before(Touch(write.kernel, starts[0], side.start.names), write)
    return None if after is None else found.intersect(after)


def _points_between(write: Both, sides: Sequence[_Side | None], at: Context) -> isl.Set | None:
    """Return where a vague write comes between, in both kernels; None if not in both."""
    points = at.points.intersect(write.points)
    found: list[isl.Set] = []
    for side, touch in zip(sides, (write.old, write.new), strict=True):
        between = _between(side, touch) if side else universe().complement()
        if between is None:
            return None
        found.append(points.intersect(between))
    return found[0] if found[0].is_equal(found[1]) else None


class VaguePasts(Pasts):
    """Compares what came before two reads, and which vague writes came last."""

    def vague_between(
        self,
        names: tuple[str | None, str | None],
        nodes: tuple[Expression, Expression],
        since: tuple[Start, Start],
        at: Context,
    ) -> bool | None:
        """Tell whether vague writes may come between two writes and the reads of their elements.

        None if these need not be the same, in the same order, in both kernels.

        Parameters:
            names: the arrays with such writes; None for one that has none.
            nodes: the two reads.
            since: the two writes.
            at: where the reads are compared, with the names of the writes.
        """
        kernels = self._old, self._new
        ids = [vague_writers(k, n) if n else () for n, k in zip(names, kernels, strict=True)]
        if None not in names and names[0] != names[1]:
            return None
        name = names[0] or names[1]
        assert name is not None
        sides = [
            _Side(start, read_by(node, frame)) if array else None
            for array, node, frame, start in zip(names, nodes, (at.old, at.new), since, strict=True)
        ]
        found: list[Both] = []
        for writer in dict.fromkeys((*ids[0], *ids[1])):
            alone = [k for k in kernels if writer in k.instructions_by_id]
            if len(alone) == 1:
                if not self._is_never_between(alone[0], writer, name, sides, at):
                    return None
                continue
            if len({len(written_by(k, writer, name)) for k in kernels}) > 1:
                return None
            for write in self.written(name, writer):
                points = _points_between(write, sides, at)
                if points is None:
                    return None
                if not points.is_empty():
                    found.append(write)
                    self.relied_on_writes.add((name, writer))
        if not all(ordered_alike(*pair) for pair in product(found, found)):
            return None
        return bool(found)

    def _is_never_between(
        self, kernel: Kernel, writer: str, name: str, sides: Sequence[_Side | None], at: Context
    ) -> bool:
        """Tell whether a vague writer that only one kernel has never comes between."""
        side = sides[0 if kernel is self._old else 1]
        if side is None:
            return True
        insn = kernel.assignment(writer)
        names = self._names.fresh(insn.within_inames)
        points = at.points.intersect(executed(Frame(kernel, insn, names))[0])
        for access in written_by(kernel, writer, name):
            found = _between(side, Touch(kernel, access, names))
            if found is None or not points.intersect(found).is_empty():
                return False
        return True
