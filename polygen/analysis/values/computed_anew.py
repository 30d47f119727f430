"""Recomputed values: one kernel computes again what the other one stored.

Both kernels have both instructions:

    t[i] = f(a[i])                  t[i] = f(a[i])
    b[i] = 2*t[i]          ->       b[i] = 2*f(a[i])

In the second, ``b`` no longer reads what ``t`` holds.  So the value that was stored takes the
place of the read, on one side and then on the other, and the two are compared once more.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.dataflow.comparison_context import Context, Frame, at_source
from polygen.analysis.dataflow.computed_difference import Comparing, Difference, undecided
from polygen.analysis.dataflow.read_origins import Origins
from polygen.analysis.dataflow.read_sources import Source
from polygen.analysis.dataflow.recurrences import is_recurrence
from polygen.analysis.integers.proving import limited_attempt
from polygen.analysis.typing.kept_types import as_stored, same_type
from polygen.errors import ProofLimit
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_IN_A_ROW = 2  # how many of those that both kernels have
OTHER_TYPE = (
    "its type may not be that of what is stored in it; types that are declared may settle this"
)


class Anew:
    """Looks, as long as that is cheap, for values that one of two kernels computes anew.

    Parameters:
        comparing: compares what was written.
        origins: where values come from.
    """

    def __init__(self, comparing: Comparing, origins: Origins) -> None:
        self._comparing, self._origins = comparing, origins
        self._old, self._new = origins.old, origins.new
        self._gave_up = False

    def difference(
        self,
        was: Source,
        now: Source,
        nodes: tuple[Expression, Expression],
        at: Context,
        otherwise: Difference,
    ) -> Difference | None:
        """Return None if one kernel computes anew what the other stored, else how they differ.

        Parameters:
            was: the write that the old kernel reads.
            now: the one that the new kernel reads; both kernels have both.
            nodes: the reads.
            at: where they are compared.
            otherwise: how they differ if nothing is computed anew.
        """
        if self._gave_up or at.longest >= _IN_A_ROW:
            return otherwise
        try:
            with limited_attempt():
                return self._followed(was, now, nodes, at, otherwise)
        except ProofLimit:
            self._gave_up = True
            return otherwise

    def _followed(
        self,
        was: Source,
        now: Source,
        nodes: tuple[Expression, Expression],
        at: Context,
        otherwise: Difference,
    ) -> Difference | None:
        # Of a recurrence, it would take all of its values.
        old, new = nodes
        match = self._comparing.match
        if was.writer is not None and not is_recurrence(self._old, was.writer):
            points = at.points.intersect(
                at_source(now, at.new.names, self._origins.unread(self._new, now))
            )
            frame, points = self._origins.followed(self._old, was, at.old, points)
            inner = Context(points, frame, at.new)
            for value, why in may_be_seen(self._old, old, frame, was, at):
                if match(value, new, inner) is None:
                    return why
        if now.writer is not None and not is_recurrence(self._new, now.writer):
            points = at.points.intersect(
                at_source(was, at.old.names, self._origins.unread(self._old, was))
            )
            frame, points = self._origins.followed(self._new, now, at.new, points)
            inner = Context(points, at.old, frame)
            for value, why in may_be_seen(self._new, new, frame, now, at):
                if match(old, value, inner) is None:
                    return why
        return None if self._store_alike(was, now, nodes, at) else otherwise

    def _store_alike(
        self, was: Source, now: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> bool:
        """Tell whether what was written is the same, whichever instances wrote it.

        What they read is followed no further: it is not written.
        """
        if was.writer is None or now.writer is None:
            return False
        names = ex.name_of(nodes[0]), ex.name_of(nodes[1])
        if not same_type(self._old, names[0], self._new, names[1]):
            return False
        before, points = self._origins.followed(self._old, was, at.old, at.points)
        after, points = self._origins.followed(self._new, now, at.new, points)
        values = before.insn.values[was.position], after.insn.values[now.position]
        read = walk.free_variables(values[0]) | walk.free_variables(values[1])
        if not read.isdisjoint((*self._old.writers, *self._new.writers)):
            return False
        return self._comparing.match(*values, Context(points, before, after)) is None


def may_be_seen(
    kernel: Kernel, read: Expression, frame: Frame, source: Source, at: Context
) -> Iterator[tuple[Expression, Difference | None]]:
    """Yield what a read may see of a write, and what speaks against that: another type."""
    name, written = ex.name_of(read), frame.insn.values[source.position]
    stored = as_stored(kernel, name, frame.insn.id, written)
    if stored is not None:
        yield stored, None
    if stored is not written:
        yield written, undecided(at.old.insn, name, OTHER_TYPE)
