"""Compares two reads: they see the same value at corresponding instances."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import islpy as isl

from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.comparison_context import (
    Context,
    Frame,
    Names,
    at_source,
    unequal_set,
)
from polygen.analysis.dataflow.computed_difference import (
    At,
    Comparing,
    Difference,
    other_work,
    undecided,
    work_at,
)
from polygen.analysis.dataflow.data_lookups import for_all_values
from polygen.analysis.dataflow.data_terms import data_terms
from polygen.analysis.dataflow.read_origins import NOWHERE, Origins, is_access
from polygen.analysis.dataflow.read_sources import Source, overlapping
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.typing.kept_types import keeps_type, same_type
from polygen.analysis.values.computed_anew import OTHER_TYPE, Anew, may_be_seen
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.values.vague_past import Start, VaguePasts
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_OTHER_WRITE = "where the conditions hold, which are data, it may be read after another write"


class Reads:
    """Compares reads of a kernel before a step with those of the kernel after it.

    Parameters:
        comparing: compares what was written.
        origins: where values come from.
        instances: which old instance each new one computes.
        settled: what has the same values in both kernels.
        names: makes the names of a context.
    """

    def __init__(
        self,
        comparing: Comparing,
        origins: Origins,
        instances: InstanceMap,
        settled: Settled,
        names: Names,
    ) -> None:
        self._comparing, self._origins = comparing, origins
        self._old, self._new = origins.old, origins.new
        self._instances, self._settled, self._names = instances, settled, names
        self._anew = Anew(comparing, origins)
        self.pasts = VaguePasts(origins.old, origins.new, instances, names)

    def difference(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        """Return how two values differ, of which at least one is read, or None if they do not."""
        before = ex.name_of(old) if is_access(old, at.old) else None
        after = ex.name_of(new) if is_access(new, at.new) else None
        if before is not None and before == after and self._is_constant(before, at):
            return self.same_element(old, new, at)
        if before is not None and before == after and self._is_elsewhere(old, new, at):
            return None
        was = self._origins.of(old, at.old) if before is not None else NOWHERE
        now = self._origins.of(new, at.new) if after is not None else NOWHERE
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
        lookup = for_all_values(nodes, at, self._names, self._comparing.match)
        if lookup is None:
            return otherwise
        found = self.difference(*lookup)
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
            if was is None and self._origins.is_new(source):
                found = self._follow_new(source, nodes, at)
            elif was is not None and self._origins.is_gone(source):
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
        before = self._origins.certain(old, at.old) if was is None else was
        after = self._origins.certain(new, at.new) if now is None else now
        if before is None or after is None:
            return unknown
        names = (
            None if was is not None else ex.name_of(old),
            None if now is not None else ex.name_of(new),
        )
        for source in after:
            if names[1] is None and self._origins.is_new(source):
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
        writers = self._origins.at(self._old, was), self._origins.at(self._new, now)
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
        if not self._origins.is_new(now):
            return self._both_have(was, now, nodes, at) is None
        frame, points = self._origins.followed(self._new, now, at.new, at.points)
        value = frame.insn.values[now.position]
        if not keeps_type(self._new, ex.name_of(nodes[1]), frame.insn.id):
            return False
        found = self._origins.of(value, frame) if is_access(value, frame) else None
        inner = Context(points, at.old, frame)
        return found is not None and all(
            self._holds_what_was_written(was, source, (nodes[0], value), inner) for source in found
        )

    def _follow_new(
        self, now: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> Difference | None:
        """Compare an old value with what a new instruction stores."""
        frame, points = self._origins.followed(self._new, now, at.new, at.points)
        inner = Context(points, at.old, frame)

        def match(value: Expression) -> Difference | None:
            return self._comparing.match(nodes[0], value, inner)

        return _followed(self._new, nodes[1], frame, now, at, match)

    def _follow_old(
        self, was: Source, nodes: tuple[Expression, Expression], at: Context
    ) -> Difference | None:
        """Compare what an instruction stored that is gone with a new value."""
        frame, points = self._origins.followed(self._old, was, at.old, at.points)
        inner = Context(points, frame, at.new)

        def match(value: Expression) -> Difference | None:
            return self._comparing.match(value, nodes[1], inner)

        return _followed(self._old, nodes[0], frame, was, at, match)

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
            return other_work(old, new, at, at.points)
        at = at.indexing()
        for before, after in zip(_index(old), _index(new), strict=True):
            found = self._comparing.match(before, after, at)
            if found is not None and self._adds_up_alike(before, after, at):
                continue
            if found is not None and found.is_work and found.point is not None:
                return work_at(old, new, at, found.point)
            if found is not None:
                return found
        return None

    def _adds_up_alike(self, old: Expression, new: Expression, at: Context) -> bool:
        """Tell whether two subscripts are sums that differ in nothing but their order."""
        terms = data_terms(old, new, at)
        return bool(terms) and all(self._comparing.match(*both, at) is None for both in terms)

    def _from(
        self,
        now: Source,
        was: tuple[Source, ...],
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> Difference | None:
        """Compare a value that comes from one write of the new kernel, or was there before."""
        if self._origins.is_new(now):
            found = self._follow_new(now, nodes, at)
            if found is not None and self._converted_alike(was, now, nodes, at):
                return None
            return found
        for source in was:
            if self._origins.is_gone(source):
                found = self._follow_old(source, nodes, at)
            else:
                found = self._both_have(source, now, nodes, at)
                if found is not None:
                    found = self._anew.difference(source, now, nodes, at, found)
            if found is not None:
                return found
        return None

    def _converted_alike(
        self,
        was: tuple[Source, ...],
        now: Source,
        nodes: tuple[Expression, Expression],
        at: Context,
    ) -> bool:
        """Tell whether one value was stored in variables of one type.

        In one array, whose type a call may decide, or in two that are declared alike.
        """
        old, new = nodes
        if not (is_access(old, at.old) and is_access(new, at.new)):
            return False
        if not self._are_stored_alike(ex.name_of(old), ex.name_of(new)):
            return False
        for source in was:
            after, points = self._origins.followed(self._new, now, at.new, at.points)
            if source.writer is None:
                if points.is_disjoint(at_source(source, at.old.names, {})):
                    continue
                return False
            before, points = self._origins.followed(self._old, source, at.old, points)
            values = before.insn.values[source.position], after.insn.values[now.position]
            if self._comparing.match(*values, Context(points, before, after)) is not None:
                return False
        return True

    def _are_stored_alike(self, old: str, new: str) -> bool:
        """Tell whether a variable of either kernel rounds what is stored in it as the other's."""
        before, after = self._old.variables[old], self._new.variables[new]
        if old == new and isinstance(after, GlobalArg) and after.dtype is None:
            return True
        if not (isinstance(before, TemporaryVariable) and isinstance(after, TemporaryVariable)):
            return False
        return before.dtype is not None and before.dtype == after.dtype

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
            both = is_access(old, at.old) and is_access(new, at.new)
            if not both or ex.name_of(old) != ex.name_of(new):
                return other_work(old, new, at, points)
            return self.same_element(old, new, at.restricted(points))
        before, after = self._origins.at(self._old, was), self._origins.at(self._new, now)
        pairs = at.points.intersect(at_source(was, at.old.names, before.names))
        pairs = pairs.intersect(at_source(now, at.new.names, after.names))
        same = was.writer == now.writer and was.position == now.position
        if was.writer is not None and same:
            names = ex.name_of(old), ex.name_of(new)
            if not same_type(self._old, names[0], self._new, names[1]):
                return undecided(at.old.insn, names[1], OTHER_TYPE)
            pairs = pairs.intersect(self._other_instances(was.writer, before, after))
        if pairs.is_empty():
            return None
        if not (is_access(old, at.old) and is_access(new, at.new)):
            return other_work(old, new, at, pairs)
        name = ex.name_of(new)
        if not (at.old.is_certain and at.new.is_certain):
            return undecided(at.old.insn, name, _OTHER_WRITE)
        reader = At(at.new.insn.id, at.new.names)
        return Difference(at.new.insn.id, name, "", True, reader, before, after, witness(pairs))

    def _other_instances(self, writer: str, before: At, after: At) -> isl.Set:
        """Return where a new instance of a writer does not compute the old one."""
        frame = Frame(self._new, self._new.assignment(writer), after.names)
        bad = [
            unequal_set(ex.Variable(name), frame.named(self._instances.value(writer, iname)))
            for iname, name in before.names.items()
        ]
        return reduce(isl.Set.union, bad, isl.Set("{ : 1 = 0 }"))


def _at_one_instance(at: Context) -> bool:
    """Tell whether two frames are at instances that are known to be the same."""
    # Where a write was followed, they need not be.
    return at.depth == 0 and at.old.insn.id == at.new.insn.id


def _index(node: Expression) -> tuple[Expression, ...]:
    return ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()


def _followed(
    kernel: Kernel,
    read: Expression,
    frame: Frame,
    source: Source,
    at: Context,
    match: Callable[[Expression], Difference | None],
) -> Difference | None:
    """Return how what a write left in a variable differs from a value that `match` compares."""
    found: Difference | None = None
    for value, why in may_be_seen(kernel, read, frame, source, at):
        different = match(value)
        if different is None:
            return why
        found = found or (different if why is None else why)
    return found
