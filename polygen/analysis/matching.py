"""Whether two expressions have the same value at corresponding instances of two kernels.

See `polygen.analysis.equivalence` for when two values are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import islpy as isl

from polygen.analysis.access import evaluated_under
from polygen.analysis.context import (
    Context,
    Frame,
    Names,
    at_source,
    unequal_set,
)
from polygen.analysis.data_terms import data_terms
from polygen.analysis.dataflow import (
    Source,
    certain_final_sources,
    certain_sources,
    final_sources,
    overlapping,
    sources,
)
from polygen.analysis.difference import END, At, Difference, undecided
from polygen.analysis.instance_map import InstanceMap
from polygen.analysis.kept_types import keeps_type, same_type
from polygen.analysis.lookups import for_all_values
from polygen.analysis.pairs import witness
from polygen.analysis.settled import Settled
from polygen.analysis.sums import Stored, Sums
from polygen.analysis.unknowns import is_by_size, without_whole_sizes
from polygen.analysis.vague_past import Start, VaguePasts
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression

_RECOMPUTED = 2  # how many of those that both kernels have
_OTHER_TYPE = (
    "its type may not be that of what is stored in it; types that are declared may settle this"
)
_OTHER_WRITE = "where the conditions hold, which are data, it may be read after another write"


class Matcher:
    """Compares expressions of a kernel before a step with those of the kernel after it."""

    def __init__(
        self, old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled, names: Names
    ) -> None:
        self._old, self._new = old, new
        self._instances = instances
        self._settled = settled
        self._names = names
        self.pasts = VaguePasts(old, new, instances, names)
        self.sums = Sums(self, instances, names)

    def match(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        """Return how the values of two expressions differ, or None if they do not.

        Parameters:
            old: an expression of the old frame's instruction.
            new: one of the new frame's.
            at: where they are compared.
        """
        if at.is_empty:
            return None
        if at.old.is_too_deep or at.new.is_too_deep:
            return undecided(at.old.insn, None, "too many writes would have to be followed")
        if _is_access(old, at.old) or _is_access(new, at.new):
            return self._access(old, new, at)
        if at.have_one_value(old, new):
            return None
        integers = at.old.integer(old), at.new.integer(new)
        if integers[0] is not None and integers[1] is not None:
            bad = at.points.intersect(integers[0].ne_set(integers[1]))
            return None if bad.is_empty() else self.other_work(old, new, at, bad)
        if isinstance(old, ex.Reduction) and isinstance(new, ex.Reduction):
            return self.sums.difference(old, new, at)
        return self._parts(old, new, at)

    def _parts(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        if is_by_size(old) and is_by_size(new):
            old, new = without_whole_sizes(old), without_whole_sizes(new)
        same = type(old) is type(new) and len(walk.parts(old)) == len(walk.parts(new))
        if not same or not _same_node(old, new):
            return self.other_work(old, new, at, at.points)
        inside = zip(evaluated_under(old, ()), evaluated_under(new, ()), strict=True)
        for (before, was), (after, now) in inside:
            found = self.match(before, after, self._under(at, was, now))
            if found is not None:
                return found
        return None

    def _under(
        self, at: Context, was: tuple[Expression, ...], now: tuple[Expression, ...]
    ) -> Context:
        """Return the context for what is evaluated under conditions that match each other."""
        if not was:
            return at
        points = at.points
        for condition in was:
            holds = at.old.holds(condition)
            points = points if holds is None else points.intersect(holds)
        return Context(points, at.old.under(*was), at.new.under(*now))

    # --- reads

    def _access(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        before = ex.name_of(old) if _is_access(old, at.old) else None
        after = ex.name_of(new) if _is_access(new, at.new) else None
        if before is not None and before == after and self._is_constant(before, at):
            return self.same_element(old, new, at)
        if before is not None and before == after and self._is_elsewhere(old, new, at):
            return None
        was = self._sources(old, at.old) if before is not None else _NOWHERE
        now = self._sources(new, at.new) if after is not None else _NOWHERE
        if was is None or now is None:
            if before is not None and before == after:
                if self.pasts.are_same_within(old, new, at):
                    return None
                if self.pasts.are_same(old, new, at):
                    return self.same_element(old, new, at)
            found = self._partly(was, now, (old, new), at)
            if found is not None:
                found = self._whatever_data_says((old, new), at, found)
            return None if found is None else self._vaguely(was, now, (old, new), at, found)
        for source in now:
            found = self._from(source, was, (old, new), at)
            if found is not None:
                return found
        return None

    def _whatever_data_says(
        self, nodes: tuple[Expression, Expression], at: Context, otherwise: Difference
    ) -> Difference | None:
        """Compare two reads for each value that data in their subscripts may have."""
        lookup = for_all_values(nodes, at, self._names, self.match)
        if lookup is None:
            return otherwise
        found = self._access(*lookup)
        return found if found is None or not found.certain else otherwise

    def _partly(
        self,
        was: tuple[Source, ...] | None,
        now: tuple[Source, ...] | None,
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> Difference | None:
        """Compare values of which data decides where one comes from: the other may be followed."""
        name = ex.name_of(nodes[0] if was is None else nodes[1])
        unknown = undecided(at.old.insn, name, "which elements are touched depends on data")
        if was is None and now is None:
            return unknown
        for source in was or now or ():
            if was is None and self._is_new(source):
                found = self._follow_new(source, nodes, at)
            elif was is not None and self._is_gone(source):
                found = self._follow_old(source, nodes, at)
            else:
                found = unknown
            if found is not None:
                return found
        return None

    def _vaguely(
        self,
        was: tuple[Source, ...] | None,
        now: tuple[Source, ...] | None,
        nodes: tuple[Expression, Expression],
        at: Context,
        unknown: Difference,
    ) -> Difference | None:
        """Compare values that vague writes may have changed since the last certain one."""
        old, new = nodes
        before = self._certain_sources(old, at.old) if was is None else was
        after = self._certain_sources(new, at.new) if now is None else now
        if before is None or after is None:
            return unknown
        names = (
            None if was is not None else ex.name_of(old),
            None if now is not None else ex.name_of(new),
        )
        for source in after:
            if names[1] is None and self._is_new(source):
                found = self._follow_new(source, nodes, at)
                if found is not None:
                    return found
                continue
            for other in before:
                if not self._is_same_since((other, source), names, nodes, at):
                    return unknown
        return None

    def _is_same_since(
        self,
        since: tuple[Source, Source],
        names: tuple[str | None, str | None],
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> bool:
        """Tell whether two reads see the same where these are the last certain writes before.

        Parameters:
            since: the writes.
            names: the arrays, of which vague writes may come after; None if there are none.
            nodes: the reads.
            at: where they are compared.
        """
        was, now = since
        writers = self._at(self._old, was), self._at(self._new, now)
        points = at.points.intersect(at_source(was, at.old.names, writers[0].names))
        points = points.intersect(at_source(now, at.new.names, writers[1].names))
        if points.is_empty():
            return True
        inner = at.restricted(points)
        starts = Start(was.writer, writers[0].names), Start(now.writer, writers[1].names)
        between = self.pasts.vague_between(names, nodes, starts, inner)
        if between is None:
            return False
        if was.writer is None and now.writer is None:
            return self._both_have(was, now, nodes, inner) is None
        if between and self.same_element(*nodes, inner) is not None:
            return False
        if was.writer is None or now.writer is None:
            return False
        return self._holds_what_was_written(was, now, nodes, inner)

    def _holds_what_was_written(
        self, was: Source, now: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> bool:
        """Tell whether what one kernel wrote is what the other wrote, or stored in between."""
        if not self._is_new(now):
            return self._both_have(was, now, nodes, at) is None
        frame, points = self._followed(self._new, now, at.new, at.points)
        value = frame.insn.values[now.position]
        if not keeps_type(self._new, ex.name_of(nodes[1]), frame.insn.id):
            return False
        found = self._sources(value, frame) if _is_access(value, frame) else None
        inner = Context(points, at.old, frame)
        return found is not None and all(
            self._holds_what_was_written(was, source, (nodes[0], value), inner) for source in found
        )

    def _certain_sources(self, node: Expression, frame: Frame) -> tuple[Source, ...] | None:
        name = ex.name_of(node)
        if len(overlapping(frame.kernel, name)) > 1:
            return None
        if frame.insn is END:
            return certain_final_sources(frame.kernel, name)
        return certain_sources(frame.kernel, frame.reference(node))

    def _is_new(self, source: Source) -> bool:
        """Tell whether only the kernel after the step has what writes a value."""
        return source.writer is not None and source.writer not in self._old.instructions_by_id

    def _is_gone(self, source: Source) -> bool:
        """Tell whether only the kernel before the step has what writes a value."""
        return source.writer is not None and source.writer not in self._new.instructions_by_id

    def _follow_new(
        self, now: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> Difference | None:
        """Compare an old value with what a new instruction stores."""
        name = ex.name_of(nodes[1])
        frame, points = self._followed(self._new, now, at.new, at.points)
        if not keeps_type(self._new, name, frame.insn.id):
            return undecided(at.old.insn, name, _OTHER_TYPE)
        inner = Context(points, at.old, frame)
        return self.match(nodes[0], frame.insn.values[now.position], inner)

    def _follow_old(
        self, was: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> Difference | None:
        """Compare what an instruction stored that is gone with a new value."""
        name = ex.name_of(nodes[0])
        frame, points = self._followed(self._old, was, at.old, at.points)
        if not keeps_type(self._old, name, frame.insn.id):
            return undecided(at.old.insn, name, _OTHER_TYPE)
        inner = Context(points, frame, at.new)
        return self.match(frame.insn.values[was.position], nodes[1], inner)

    def _is_constant(self, name: str, at: Context) -> bool:
        """Tell whether a variable has the same values wherever the two frames read it."""
        touched = {*overlapping(self._old, name), *overlapping(self._new, name)}
        if touched.isdisjoint(self._old.writers) and touched.isdisjoint(self._new.writers):
            return True
        return _at_one_instance(at) and self._settled.holds(name)

    def _is_elsewhere(self, old: Expression, new: Expression, at: Context) -> bool:
        """Tell whether an instance reads the same of a temporary that has another place."""
        same = at.old.names == at.new.names and _at_one_instance(at)
        return same and self._settled.is_same_elsewhere(old, new)

    def same_element(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        """Return how two elements of one array differ in where they are, or None."""
        if len(_index(old)) != len(_index(new)):
            return self.other_work(old, new, at, at.points)
        for before, after in zip(_index(old), _index(new), strict=True):
            found = self.match(before, after, at)
            if found is not None and self._adds_up_alike(before, after, at):
                continue
            if found is not None and found.is_work and found.point is not None:
                return self._work(old, new, at, found.point)
            if found is not None:
                return found
        return None

    def _adds_up_alike(self, old: Expression, new: Expression, at: Context) -> bool:
        """Tell whether two subscripts are sums that differ in nothing but their order."""
        terms = data_terms(old, new, at)
        return bool(terms) and all(self.match(*both, at) is None for both in terms)

    def _sources(self, node: Expression, frame: Frame) -> tuple[Source, ...] | None:
        name = ex.name_of(node)
        names = overlapping(frame.kernel, name)
        if not any(n in frame.kernel.writers for n in names):
            return _NOWHERE
        if len(names) > 1:
            return None
        if frame.insn is END:
            return final_sources(frame.kernel, name)
        return sources(frame.kernel, frame.reference(node))

    def _from(
        self,
        now: Source,
        was: tuple[Source, ...],
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> Difference | None:
        """Compare a value that comes from one write of the new kernel, or was there before."""
        if self._is_new(now):
            return self._follow_new(now, nodes, at)
        for source in was:
            if self._is_gone(source):
                found = self._follow_old(source, nodes, at)
            else:
                found = self._both_have(source, now, nodes, at)
                if found is not None and at.depth < _RECOMPUTED:
                    found = self._recomputed(source, now, nodes, at, found)
            if found is not None:
                return found
        return None

    def _recomputed(
        self,
        was: Source,
        now: Source,
        nodes: tuple[Expression, Expression],
        at: Context,
        otherwise: Difference,
    ) -> Difference | None:
        """Look whether one kernel computes anew what the other one has stored."""
        if was.writer is not None:
            points = at.points.intersect(at_source(now, at.new.names, self._unread(self._new, now)))
            frame, points = self._followed(self._old, was, at.old, points)
            inner = Context(points, frame, at.new)
            value = frame.insn.values[was.position]
            if self.match(value, nodes[1], inner) is None:
                return self._typed(self._old, nodes[0], was.writer, at)
        if now.writer is not None:
            points = at.points.intersect(at_source(was, at.old.names, self._unread(self._old, was)))
            frame, points = self._followed(self._new, now, at.new, points)
            inner = Context(points, at.old, frame)
            value = frame.insn.values[now.position]
            if self.match(nodes[0], value, inner) is None:
                return self._typed(self._new, nodes[1], now.writer, at)
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
        before, points = self._followed(self._old, was, at.old, at.points)
        after, points = self._followed(self._new, now, at.new, points)
        values = before.insn.values[was.position], after.insn.values[now.position]
        read = walk.free_variables(values[0]) | walk.free_variables(values[1])
        if not read.isdisjoint((*self._old.writers, *self._new.writers)):
            return False
        return self.match(*values, Context(points, before, after)) is None

    def _typed(
        self, kernel: Kernel, stored: Expression, writer: str, at: Context
    ) -> Difference | None:
        """Return that what is stored may be of another type than what is computed anew."""
        name = ex.name_of(stored)
        if keeps_type(kernel, name, writer):
            return None
        return undecided(at.old.insn, name, _OTHER_TYPE)

    def _unread(self, kernel: Kernel, source: Source) -> dict[str, str]:
        """Return names for the instances of a writer that nothing else asks for."""
        if source.writer is None:
            return {}
        return self._names.fresh(kernel.instruction(source.writer).within_inames)

    def _followed(
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
        if not _is_access(node, frame):
            return None
        found: list[Stored] = []
        for source in self._sources(node, frame) or ():
            if source.writer is None or not (self._is_new(source) or self._is_gone(source)):
                unread = self._unread(frame.kernel, source)
                if not points.intersect(at_source(source, frame.names, unread)).is_empty():
                    return None
                continue
            there, left = self._followed(frame.kernel, source, frame, points)
            if not left.is_empty():
                found.append((there, left, there.insn.values[source.position]))
        if len(found) != 1:
            return None
        writer = found[0][0].insn.id
        return found[0] if keeps_type(frame.kernel, ex.name_of(node), writer) else None

    def _both_have(
        self,
        was: Source,
        now: Source,
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> Difference | None:
        old, new = nodes
        if was.writer is None and now.writer is None:
            points = at.points.intersect(at_source(was, at.old.names, {}))
            points = points.intersect(at_source(now, at.new.names, {}))
            if points.is_empty():
                return None
            both = _is_access(old, at.old) and _is_access(new, at.new)
            if not both or ex.name_of(old) != ex.name_of(new):
                return self.other_work(old, new, at, points)
            return self.same_element(old, new, at.restricted(points))
        before, after = self._at(self._old, was), self._at(self._new, now)
        pairs = at.points.intersect(at_source(was, at.old.names, before.names))
        pairs = pairs.intersect(at_source(now, at.new.names, after.names))
        same = was.writer == now.writer and was.position == now.position
        if was.writer is not None and same:
            names = ex.name_of(old), ex.name_of(new)
            if not same_type(self._old, names[0], self._new, names[1]):
                return undecided(at.old.insn, names[1], _OTHER_TYPE)
            pairs = pairs.intersect(self._other_instances(was.writer, before, after))
        if pairs.is_empty():
            return None
        if not (_is_access(old, at.old) and _is_access(new, at.new)):
            return self.other_work(old, new, at, pairs)
        name = ex.name_of(new)
        if not (at.old.is_certain and at.new.is_certain):
            return undecided(at.old.insn, name, _OTHER_WRITE)
        reader = At(at.new.insn.id, at.new.names)
        return Difference(at.new.insn.id, name, "", True, reader, before, after, witness(pairs))

    def _at(self, kernel: Kernel, source: Source) -> At:
        if source.writer is None:
            return At(None, {})
        inames = kernel.instruction(source.writer).within_inames
        return At(source.writer, self._names.fresh(inames))

    def _other_instances(self, writer: str, before: At, after: At) -> isl.Set:
        """Return where a new instance of a writer does not compute the old one."""
        frame = Frame(self._new, self._new.assignment(writer), after.names)
        bad = [
            unequal_set(ex.Variable(name), frame.named(self._instances.value(writer, iname)))
            for iname, name in before.names.items()
        ]
        return reduce(isl.Set.union, bad, isl.Set("{ : 1 = 0 }"))

    # --- what is wrong

    def other_work(self, old: Expression, new: Expression, at: Context, bad: isl.Set) -> Difference:
        """Return that an expression is another at some points."""
        return self._work(old, new, at, witness(bad))

    def _work(
        self, old: Expression, new: Expression, at: Context, point: Mapping[str, int]
    ) -> Difference:
        if at.old.insn is END:
            name = ex.name_of(old)
            what = f"'{name}' would end with {show_expression(new)}, which is something else"
            return Difference(END.id, name, what, point=point)
        if at.new.insn is END:
            name = ex.name_of(new)
            what = f"'{name}' would not end with {show_expression(old)} any more"
            return Difference(END.id, name, what, point=point)
        what = f"it would compute {show_expression(new)} instead of {show_expression(old)}"
        return Difference(at.old.insn.id, what=what, point=point)


_NOWHERE = (Source(None, isl.Set("{ : }")),)


def _at_one_instance(at: Context) -> bool:
    """Tell whether two frames are at instances that are known to be the same."""
    # Where a write was followed, they need not be.
    return at.depth == 0 and at.old.insn.id == at.new.insn.id


def _is_access(node: Expression, frame: Frame) -> bool:
    """Tell whether an expression is a variable's or an element's value, not that of an iname."""
    if isinstance(node, ex.Subscript):
        return True
    return isinstance(node, ex.Variable) and node.name in frame.kernel.variables


def _index(node: Expression) -> tuple[Expression, ...]:
    return ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()


def _same_node(old: Expression, new: Expression) -> bool:
    """Tell whether two nodes differ in nothing but their parts."""
    marks = tuple(ex.Variable(f"__{number}") for number in range(len(walk.parts(old))))
    if not marks:
        return identical(old, new)
    if isinstance(old, ex.Subscript):
        raise InternalError("a subscript is compared as an access")
    return bool(walk.rebuild(old, marks) == walk.rebuild(new, marks))
