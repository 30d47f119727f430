"""Proves that two kernels compute the same, along the map of a step.

For steps that add or remove instructions, recompute, or move storage.  The two compute the same
if each array argument ends with the same values.  Two values are the same if

- both were there before the kernels ran, in the same element of the same array, or
- the same instruction wrote both, at instances that the step says are one and the same (and what
  each instruction that both kernels have computes is compared at all its instances), or
- a write that only one of the kernels has wrote one of them, and the expression that was written
  equals the other, term by term.

Which write a read sees, `polygen.analysis.dataflow.read_sources` says.  What data decides is
beyond that: see `polygen.analysis.values.same_past` and `polygen.analysis.values.vague_past`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_temporaries
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.comparison_context import (
    Context,
    Frame,
    Names,
    equal_set,
    executed,
    executed_given,
)
from polygen.analysis.dataflow.computed_difference import END, Difference, undecided
from polygen.analysis.dataflow.liveness import live_variables
from polygen.analysis.dataflow.needed_instances import is_free_of_data, needed_instances
from polygen.analysis.dataflow.read_sources import element_names, readers_tell, vague_writers
from polygen.analysis.integers.instance_wording import (
    OTHER_ITERATIONS,
    shown_parameters,
    shown_values,
)
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.values.value_matching import Matcher
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.domain import intersection, project_out, same_points, universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, identical
from polygen.ir.kernel import Kernel


def flow_difference(
    old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled
) -> Difference | None:
    """Return something that two kernels do not compute alike, or None.

    Parameters:
        old: the kernel before.
        new: the kernel after; of every two of its instances that touch one element, one of them
            writing, it is known which comes first.
        instances: which old instance each new one computes, of the instructions that both have.
        settled: the variables whose values are known to be the same wherever both kernels'
            instructions read the same elements.
    """
    return _Comparison(old, new, instances, settled).run()


_Pair: TypeAlias = tuple[ex.Variable | ex.Subscript, Expression]  # what is written, its value


class _Comparison:
    def __init__(self, old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled) -> None:
        self._old, self._new = old, new
        self._instances = instances
        self._settled = settled
        self._names = Names()
        self._matcher = Matcher(old, new, instances, settled, self._names)
        self._known = old.assumptions.flat
        self._contexts: dict[str, Context] = {}
        self._unneeded: Difference | None = None  # in a value that is overwritten

    def run(self) -> Difference | None:
        found = self._first()
        return found if found is None or self._unneeded is None else self._unneeded

    def _first(self) -> Difference | None:
        for insn in self._old.assignments:
            after = self._new.instructions_by_id.get(insn.id)
            found = self._instruction(insn, after) if isinstance(after, Assigning) else None
            if found is not None:
                return found
        written = dict.fromkeys((*self._old.writers, *self._new.writers))
        for name in written:
            found = self._at_the_end(name)
            if found is not None:
                return found
        return self._elements()

    def _elements(self) -> Difference | None:
        """Compare the elements that are written of arrays of which no reader tells."""
        pasts, done = self._matcher.reads.pasts, set[str]()
        while (
            left := {i for _, i in pasts.relied_on_writes}.union(
                w.id for name in pasts.relied_on for w in self._old.writers.get(name, ())
            ).difference(done)
        ):
            done.update(left)
            for insn in (i for i in self._old.assignments if i.id in left):
                context = self._contexts.get(insn.id)
                if context is None or isinstance(insn, CInstruction):
                    continue  # it is what it was
                targets = insn.assignees, self._new.instruction(insn.id).assignees
                for was, now in zip(*targets, strict=True):
                    found = self._matcher.reads.same_element(was, now, context)
                    if found is not None:
                        return found
        return None

    # --- what instructions compute

    def _instruction(self, before: Assigning, after: Assigning) -> Difference | None:
        if self._is_dead(before, after):
            return None
        found = self._stored_otherwise(before)
        if found is not None or self._is_untouched(before, after):
            return found

        def value(iname: str) -> Expression:
            return self._instances.value(before.id, iname)

        olds, news = self._names.linked(before.within_inames, after.within_inames, value)
        old, new = Frame(self._old, before, olds), Frame(self._new, after, news)
        (wanted, exact), (points, also) = executed(old), executed(new)
        moved = [i for i in sorted(olds) if olds[i] not in news.values()]
        links = [equal_set(ex.Variable(olds[i]), new.named(value(i))) for i in moved]
        wanted = wanted.intersect(self._known)
        points = reduce(isl.Set.intersect, links, points).intersect(self._known)
        others = set(news.values()).difference(olds.values())
        context = Context(points, old, new)
        there = project_out(points, others)
        if same_points(there, wanted):
            found = self._at_instances(before, after, context)
            needed = None if found is None else self._needed(before, after)
            if needed is not None:
                self._unneeded = self._unneeded or found
                found = self._at_instances(before, after, context.restricted(new.flat(needed)))
        elif wanted.is_subset(there) and self._may_be_more(before, after):
            # Where nothing but further instances wrote, a read or the end would tell.
            found = self._at_instances(before, after, context.restricted(wanted))
        else:
            found = self._where_executed(before, after, context, wanted)
        if (exact and also) or (found is not None and not found.certain):
            return found
        inames, sums = before.within_inames | after.within_inames, self._matcher.sums
        if found is None and (
            sums.run_as_often(context, inames) or sums.run_alike(self._known, context, others)
        ):
            return None
        if not (exact and also) and self._is_same_for_given(before, after, (old, new), links):
            return None
        return undecided(before, None, "how often it is executed depends on data")

    def _is_same_for_given(
        self,
        before: Assigning,
        after: Assigning,
        frames: tuple[Frame, Frame],
        links: Sequence[isl.Set],
    ) -> bool:
        """Tell whether instances are the same for all values of the data that bounds their loops.

        The conditions that they are under may mention this data, too.
        """
        old, new = frames
        (wanted, data), (points, other) = executed_given(old), executed_given(new)
        if data != other:
            return False
        old, new = replace(old, numbers=data), replace(new, numbers=data)
        points = reduce(isl.Set.intersect, links, points).intersect(self._known)
        at = Context(points, old, new)
        if not self._matcher.sums.are_alike(data, at):
            return False
        return self._where_executed(before, after, at, wanted.intersect(self._known)) is None

    def _where_executed(
        self, before: Assigning, after: Assigning, at: Context, wanted: isl.Set
    ) -> Difference | None:
        """Compare an instruction where its conditions hold: the iterations may be others."""
        wanted, _ = _held(at.old, before.predicates, wanted)
        points, _ = _held(at.new, after.predicates, at.points)
        others = set(at.new.names.values()).difference(at.old.names.values())
        there = project_out(points, others)
        if same_points(there, wanted):
            return self._at_instances(before, after, at.restricted(points))
        what = _one_of_them(self._old, wanted, there, at.old.names)
        return Difference(before.id, what=f"{OTHER_ITERATIONS}: {what}")

    def _may_be_more(self, before: Assigning, after: Assigning) -> bool:
        """Tell whether the sources of reads tell all that further instances could change."""
        if isinstance(after, CInstruction) or after.atomicity is not None:
            return False
        return is_free_of_data(self._old, before.id) and is_free_of_data(self._new, after.id)

    def _needed(self, before: Assigning, after: Assigning) -> isl.Set | None:
        """Return the new instances that have to compute what they computed; None for all."""
        if is_free_of_data(self._old, before.id) and is_free_of_data(self._new, after.id):
            return needed_instances(self._new, after.id)
        return None

    def _at_instances(
        self, before: Assigning, after: Assigning, context: Context
    ) -> Difference | None:
        """Compare instances of an instruction that are one and the same."""
        found = self._predicates(before, after, context)
        if found is not None:
            return found
        old, new = context.old.under(*before.predicates), context.new.under(*after.predicates)
        context = self._contexts[before.id] = Context(context.points, old, new)
        return self._computed(before, after, context)

    def _computed(self, before: Assigning, after: Assigning, context: Context) -> Difference | None:
        """Compare what is assigned."""
        if isinstance(before, CInstruction) or isinstance(after, CInstruction):
            return self._verbatim(before, after, context)
        if len(before.pairs) != len(after.pairs) or before.atomicity != after.atomicity:
            return Difference(before.id, what="it would assign in another way")
        for was, now in zip(before.pairs, after.pairs, strict=True):
            found = self._assigned(was, now, context)
            if found is not None:
                return found
        return None

    def _verbatim(self, before: Assigning, after: Assigning, at: Context) -> Difference | None:
        """Compare two texts of C: of what they read, the same writes have to come before."""
        other = Difference(before.id, what="it would execute other verbatim C")
        if not (isinstance(before, CInstruction) and isinstance(after, CInstruction)):
            return other
        if before.form != after.form:
            return other
        for old, new in zip(before.evaluated, after.evaluated, strict=True):
            found = self._matcher.match(old, new, at)
            if found is not None:
                return found
        for name in sorted(before.read_names.intersection(self._old.variables)):
            if not (self._settled.holds(name) or self._matcher.reads.pasts.whole_is_same(name, at)):
                return undecided(before, name, "verbatim C touches it, in a way that is not known")
        return None

    def _stored_otherwise(self, insn: Assigning) -> Difference | None:
        """Return what verbatim C touches that is declared otherwise: its text may rely on that."""
        if not isinstance(insn, CInstruction):
            return None
        for name in sorted(insn.read_names.union(insn.written_names)):
            if self._old.variables.get(name) != self._new.variables.get(name):
                what = f"it is verbatim C, for which '{name}' would be declared otherwise"
                return Difference(insn.id, what=what)
        return None

    def _assigned(self, was: _Pair, now: _Pair, context: Context) -> Difference | None:
        names = ex.name_of(was[0]), ex.name_of(now[0])
        if self._are_dead(names):
            return None
        found = self._matcher.match(was[1], now[1], context)
        if found is not None or names[0] != names[1]:
            return found
        if all(readers_tell(kernel, names[0]) for kernel in (self._old, self._new)):
            return None
        if self._settled.is_alike_elsewhere(names[0]):
            return None
        return self._matcher.reads.same_element(was[0], now[0], context)

    def _is_dead(self, before: Assigning, after: Assigning) -> bool:
        """Tell whether nothing comes of what an instruction writes."""
        written = (*before.written_names, *after.written_names)
        return bool(written) and self._are_dead(written)

    def _are_dead(self, names: Sequence[str]) -> bool:
        """Tell whether nothing that is in these variables reaches an argument."""
        live = live_variables(self._old) | live_variables(self._new)
        return live.isdisjoint(names)

    def _is_untouched(self, before: Assigning, after: Assigning) -> bool:
        if not identical(before, after) or self._instances.of(before.id):
            return False
        inames = before.within_inames | before.reduction_inames
        if any(self._old.home_domains[i] != self._new.home_domains.get(i) for i in inames):
            return False
        read = before.read_names.intersection(self._old.variables)
        read |= domain_temporaries(self._old, inames)
        return all(self._settled.holds(name) for name in read)

    def _predicates(
        self, before: Assigning, after: Assigning, context: Context
    ) -> Difference | None:
        """Compare conditions: those that are affine as one set, others one by one."""
        was, rest = _held(context.old, before.predicates, context.points)
        now, new_rest = _held(context.new, after.predicates, context.points)
        if not same_points(was, now) or len(rest) != len(new_rest):
            return Difference(before.id, what="it has other predicates")
        inner = context.restricted(was)
        for old, new in zip(rest, new_rest, strict=True):
            found = self._matcher.match(old, new, inner)
            if found is not None:
                return found
        return None

    def _at_the_end(self, name: str) -> Difference | None:
        """Compare what an array argument holds in the end, as if an instruction read it all."""
        array = self._old.variables.get(name)
        if not isinstance(array, GlobalArg) or self._settled.holds(name):
            return None
        axes = element_names(self._old, name)
        index = tuple([ex.Variable(axis) for axis in axes])
        element = ex.Subscript(ex.Variable(name), index) if index else ex.Variable(name)
        names = self._names.fresh(axes)
        end = [Frame(kernel, END, names) for kernel in (self._old, self._new)]
        known = self._known
        if any(vague_writers(kernel, name) for kernel in (self._old, self._new)):
            inside = _inside([names[axis] for axis in axes], array.shape or ())
            known = intersection(known, inside)
        return self._matcher.match(element, element, Context(known, *end))


def _one_of_them(kernel: Kernel, was: isl.Set, now: isl.Set, names: Mapping[str, str]) -> str:
    """Return an instance that only one of two sets has, by the inames of the kernel before."""
    gone = was.subtract(now)
    which, verb = (now.subtract(was), "is new") if gone.is_empty() else (gone, "is left out")
    point = witness(which)
    values = {iname: point.get(name, 0) for iname, name in sorted(names.items())}
    return f"{shown_parameters(kernel, point)}{shown_values(values, values) or 'all'} {verb}"


def _inside(axes: Sequence[str], shape: Sequence[Expression]) -> isl.Set:
    """Return where elements are in an array, as far as that is affine."""
    found = universe()
    for axis, extent in zip(axes, shape, strict=True):
        at_least = ex.Comparison(0, "<=", ex.Variable(axis))
        below = ex.Comparison(ex.Variable(axis), "<", extent)
        for condition in (at_least, below):
            holds = condition_set(condition)
            found = found if holds is None else intersection(found, holds)
    return found


def _held(
    frame: Frame, predicates: tuple[Expression, ...], points: isl.Set
) -> tuple[isl.Set, list[Expression]]:
    """Return the points at which what is affine of some predicates holds, and all else of them."""
    rest: list[Expression] = []
    for condition in (part for p in predicates for part in walk.conjuncts(p)):
        holds = frame.holds(condition)
        if holds is None:
            rest.append(condition)
        else:
            points = points.intersect(holds)
    return points, rest
