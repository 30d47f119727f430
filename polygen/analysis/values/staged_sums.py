"""Compares two reductions that are computed in stages.

``sum(k, p[k])`` with ``p[k] = sum(l, a[4*k + l])`` adds up what ``sum(j, a[j])`` adds up.  Stages,
also those that only one kernel stores, are put together; then each contribution to the one has to
correspond to one contribution to the other.  Which one, the step says, or the subscripts of what is
added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.comparison_context import (
    Context,
    Frame,
    Names,
    data_in_bounds,
    equal_set,
    executed,
    executed_given,
    renamed_by,
    unequal_set,
)
from polygen.analysis.dataflow.computed_difference import (
    Comparing,
    Difference,
    other_work,
    undecided,
)
from polygen.analysis.dataflow.read_origins import Origins, Stored
from polygen.analysis.rearrangement.summation_order import may_reorder
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out, same_points
from polygen.ir.expression import Expression
from polygen.ir.reduction import may_merge

_MOST_STAGES = 8
_LENGTH = "how long a reduction is depends on data"
_QUOTIENTS = frozenset((ex.Remainder, ex.FloorDiv))

_Equations: TypeAlias = Callable[[Expression, Frame, Expression, Frame], Iterator[isl.Set]]


@dataclass(frozen=True)
class _Sum:
    """A sum, all of its stages together.

    Attributes:
        operand: an expression of the frame's instruction.
        frame: that of the innermost stage.
        points: all contributions.
        names: those that are added up over.
        others: those that follow from all others: of instructions that store a stage.
    """

    operand: Expression
    frame: Frame
    points: isl.Set
    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def contributions(self) -> isl.Set:
        """The points without names that follow from others."""
        return project_out(self.points, self.others)


class Sums:
    """Compares reductions.

    Parameters:
        comparing: compares what is added up.
        origins: where values come from.
        instances: which old instance each new one computes.
        names: gives names to inames in the context.
    """

    def __init__(
        self, comparing: Comparing, origins: Origins, instances: InstanceMap, names: Names
    ) -> None:
        self._comparing = comparing
        self._origins = origins
        self._instances = instances
        self._names = names

    def difference(self, old: ex.Reduction, new: ex.Reduction, at: Context) -> Difference | None:
        """Return how two reductions differ, or None if they do not."""
        if old.operation != new.operation:
            return other_work(old, new, at, at.points)
        found = self._linked(_merged(old), _merged(new), at)
        if found is None or self._are_same(old, new, at):
            return None
        if not found.certain:
            return found
        sums = self._whole(old, at.old, at.points), self._whole(new, at.new, at.points)
        return undecided(at.old.insn, None, _LENGTH) if None in sums else found

    # --- inames that names and the step link

    def _linked(self, old: ex.Reduction, new: ex.Reduction, at: Context) -> Difference | None:
        """Compare reductions of which names and the step say what their inames correspond to."""
        values = {i: self._value(i, old, new, at) for i in old.inames}
        olds, news = self._names.linked(old.inames, new.inames, values.__getitem__)
        before, after = _inside(at.old, olds), _inside(at.new, news)
        (wanted, exact), (points, also) = executed(before), executed(after)
        wanted, linked = at.points.intersect(wanted), at.points.intersect(points)
        for iname, value in values.items():
            if value is None:
                return other_work(old, new, at, at.points)
            if olds[iname] not in news.values():
                there = ex.Variable(olds[iname])
                linked = linked.intersect(equal_set(there, after.named(value)))
        others = tuple([name for name in news.values() if name not in olds.values()])
        alike = same_points(project_out(linked, others), wanted)
        if not alike or not _is_injective(linked, others):
            return other_work(old, new, at, at.points)
        inner = Context(linked, before, after)
        found = self._comparing.match(old.operand, new.operand, inner)
        if (exact and also) or (found is not None and not found.certain):
            return found
        inames = frozenset((*old.inames, *new.inames))
        if found is None and (
            self.run_as_often(inner, inames) or self.run_alike(at.points, inner, others)
        ):
            return None
        return undecided(at.old.insn, None, _LENGTH)

    def _value(
        self, iname: str, old: ex.Reduction, new: ex.Reduction, at: Context
    ) -> Expression | None:
        """Return what an iname of a reduction is in terms of the new one's."""
        if at.old.insn.id == at.new.insn.id:
            value = self._instances.of(at.old.insn.id).get(iname)
            if value is not None:
                return value
        if iname in new.inames:
            return ex.Variable(iname)
        if len(old.inames) == len(new.inames):
            return ex.Variable(new.inames[old.inames.index(iname)])
        return None

    def run_as_often(self, inside: Context, inames: frozenset[str]) -> bool:
        """Tell whether loops, the bounds of which are data, are certainly the same.

        Parameters:
            inside: the frames within these loops, at all points that are possible.
            inames: those of the loops, in both kernels.
        """
        names = data_in_bounds(inside, inames)
        return names is not None and self.are_alike(names, inside)

    def run_alike(self, wanted: isl.Set, inside: Context, others: Iterable[str]) -> bool:
        """Tell whether loops run through the same points, whatever the data in their bounds is.

        Parameters:
            wanted: where the loops of the old frame are looked at.
            inside: the frames within these loops, at all points that are possible.
            others: names of the new frame that may have any value.
        """
        (before, data), (after, other_data) = map(executed_given, (inside.old, inside.new))
        if data != other_data:
            return False
        found = project_out(inside.points.intersect(after), others)
        return bool(found.is_equal(wanted.intersect(before))) and self.are_alike(data, inside)

    def are_alike(self, names: Iterable[str], inside: Context) -> bool:
        """Tell whether scalars that bound loops have the same values where these are entered."""
        # Within the loops nobody writes them, so it is the same there.
        scalars = map(ex.Variable, sorted(names))
        return all(self._comparing.match(s, s, inside) is None for s in scalars)

    # --- stages

    def _are_same(self, old: ex.Reduction, new: ex.Reduction, at: Context) -> bool:
        """Tell whether two reductions, all stages together, have the same contributions."""
        if not may_reorder(at.old.kernel, old):
            return False
        before, after = self._whole(old, at.old, at.points), self._whole(new, at.new, at.points)
        if before is None or after is None:
            return False
        said = self._said(before, after, at)

        def told(*_: Expression | Frame) -> Iterator[isl.Set]:
            return iter(said)

        linked = (
            (_bijection(before, after, told) if said else None)
            or _bijection(before, after, _equations)
            or _bijection(before, after, _same_numbers)
        )
        if linked is None:
            return False
        # The same instruction, but not the same of its instances.
        frames = [replace(f, trail=(*f.trail, f.insn.id)) for f in (before.frame, after.frame)]
        inner = Context(linked, *frames)
        return self._comparing.match(before.operand, after.operand, inner) is None

    def _said(self, before: _Sum, after: _Sum, at: Context) -> list[isl.Set]:
        """Return what the step says of which contribution is which; nothing if not of all inames.

        It is not trusted: whether it is so, is looked at.
        """
        values = self._instances.of(at.new.insn.id)
        found: list[isl.Set] = []
        for iname, name in before.frame.names.items():
            value = values.get(iname)
            if name not in before.names:
                continue
            if value is None or not walk.free_variables(value) <= after.frame.names.keys():
                return []
            found.append(equal_set(ex.Variable(name), after.frame.named(value)))
        return found

    def _whole(self, node: ex.Reduction, frame: Frame, points: isl.Set) -> _Sum | None:
        """Return a reduction with all of its stages; None if data says how long one is."""
        found: _Sum | None = self._inside(node, _Sum(node, frame, points))
        for _ in range(_MOST_STAGES):
            if found is None:
                return None
            stage = self._stage(node, found)
            if stage is None:
                return found
            found = self._inside(*stage)
        return found

    def _stage(self, whole: ex.Reduction, at: _Sum) -> tuple[ex.Reduction, _Sum] | None:
        """Return the next stage of a reduction, and where it is; None if there is none."""
        node = at.operand
        if not isinstance(node, ex.Reduction):
            stored = self._stored(node, at)
            if stored is None:
                return None
            frame, points, node = stored
            others = (*at.others, *frame.names.values())
            at = replace(at, frame=frame, points=points, others=others)
        if not isinstance(node, ex.Reduction) or not may_merge(whole.operation, node.operation):
            return None
        return node, at

    def _stored(self, node: Expression, at: _Sum) -> Stored | None:
        """Return what one instruction stored of what is read; of several results, all of them.

        Those are of one reduction where they are written, and read, in the same places.
        """
        if not isinstance(node, ex.Several):
            return self._origins.stored(node, at.frame, at.points)
        found = [self._origins.stored(part, at.frame, at.points) for part in node.children]
        stored = [one for one in found if one is not None]
        if len(stored) < len(found):
            return None
        frame, points, value = stored[0]
        if not isinstance(value, ex.Component):
            return None
        wanted = [ex.Component(value.aggregate, n) for n in range(len(stored))]
        of_one = all(one[0].insn == frame.insn for one in stored)
        read = {ex.index_of(part) for part in node.children}
        names = [ex.name_of(part) for part in node.children]
        written = {ex.index_of(a) for a in frame.insn.assignees if ex.name_of(a) in names}
        in_one_place = len(read) == len(written) == 1
        are_all = of_one and in_one_place and [one[2] for one in stored] == wanted
        return (frame, points, value.aggregate) if are_all else None

    def _inside(self, node: ex.Reduction, at: _Sum) -> _Sum | None:
        names = self._names.fresh(node.inames)
        frame = _inside(at.frame, names)
        domain, exact = executed(frame)
        if not exact:
            return None
        points = at.points.intersect(domain)
        return _Sum(node.operand, frame, points, (*at.names, *names.values()), at.others)


def _equations(old: Expression, before: Frame, new: Expression, after: Frame) -> Iterator[isl.Set]:
    """Yield where subscripts agree that stand in the same places of two expressions."""
    if isinstance(old, ex.Subscript) and isinstance(new, ex.Subscript):
        for was, now in zip(ex.index_of(old), ex.index_of(new), strict=False):
            if before.integer(was) is None or after.integer(now) is None:
                yield from _equations(was, before, now, after)
            else:
                yield equal_set(before.named(was), after.named(now))
        return
    if type(old) is type(new):
        for was, now in zip(walk.parts(old), walk.parts(new), strict=False):
            yield from _equations(was, before, now, after)


def _same_numbers(
    old: Expression, before: Frame, new: Expression, after: Frame
) -> Iterator[isl.Set]:
    """Yield where numbers agree that stand in the same places of two expressions.

    Also those of which subscripts are remainders, which many contributions have in common.
    """
    alike = type(old) is type(new) and len(walk.parts(old)) == len(walk.parts(new)) > 0
    if alike and not _QUOTIENTS.isdisjoint(walk.classes(old) | walk.classes(new)):
        for was, now in zip(walk.parts(old), walk.parts(new), strict=True):
            yield from _same_numbers(was, before, now, after)
    elif before.integer(old) is not None and after.integer(new) is not None:
        yield equal_set(before.named(old), after.named(new))
    elif alike:
        for was, now in zip(walk.parts(old), walk.parts(new), strict=True):
            yield from _same_numbers(was, before, now, after)


def _bijection(before: _Sum, after: _Sum, equations: _Equations) -> isl.Set | None:
    """Return which contribution to the one corresponds to which to the other; None if not one."""
    found = equations(before.operand, before.frame, after.operand, after.frame)
    linked = reduce(isl.Set.intersect, found, before.points.intersect(after.points))
    outside = project_out(linked, (*before.others, *after.others))
    return linked if _is_bijection(outside, before, after) else None


def _is_bijection(linked: isl.Set, before: _Sum, after: _Sum) -> bool:
    """Tell whether each contribution to the one corresponds to one contribution to the other."""
    if not project_out(linked, after.names).is_equal(before.contributions):
        return False
    if not project_out(linked, before.names).is_equal(after.contributions):
        return False
    return _is_injective(linked, after.names) and _is_injective(linked, before.names)


def _is_injective(linked: isl.Set, names: tuple[str, ...]) -> bool:
    """Tell whether, all other names given, there is one value of the named ones at most."""
    copies = {name: f"{name}_again" for name in names if name in flat_names(linked)}
    both = linked.intersect(renamed_by(linked, copies))
    differ = [unequal_set(ex.Variable(name), ex.Variable(again)) for name, again in copies.items()]
    return not differ or both.intersect(reduce(isl.Set.union, differ)).is_empty()


def _merged(node: ex.Reduction) -> ex.Reduction:
    """Return ``sum(i, sum(j, x))`` as ``sum((i, j), x)``."""
    inner = node.operand
    while isinstance(inner, ex.Reduction) and may_merge(node.operation, inner.operation):
        node = ex.Reduction(node.operation, (*node.inames, *inner.inames), inner.operand)
        inner = node.operand
    return node


def _inside(frame: Frame, names: Mapping[str, str]) -> Frame:
    return replace(frame, names={**frame.names, **names})
