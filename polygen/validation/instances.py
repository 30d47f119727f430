"""Each work is executed exactly once at each point of its domain.

What encloses a statement says for which values of the loops around it it is executed, and so at
which points.  Where that is a conjunction of affine constraints, as it is in most programs, plain
arithmetic shows that it is the domain; isl decides the rest, and finds the witness.

A work that writes a private variable is executed by every work item along an axis that it lacks,
one that writes a local variable once in each group, any other once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.decided_conditions import Decided, with_answers
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.instance_pairs import greater, less, witness
from polygen.errors import WrongInstances
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import project_out, universe
from polygen.ir.expression import Expression
from polygen.ir.tags import GroupTag, LocalTag
from polygen.validation.constraints import Cone, Facts, all_follow, follows_by_a_part, plain
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.frames import HARDWARE, Frame
from polygen.validation.points import executed, may_hold, set_of, where
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    number,
    of_atom,
    plus,
    scaled,
    substituted,
)
from polygen.validation.terms import Terms
from polygen.validation.touching import described
from polygen.validation.view import View
from polygen.validation.works import Work

_PARAM = isl.dim_type.param
_MOST_POINTS = 10_000  # of a loop that is unrolled


@dataclass(frozen=True)
class _Loops:
    """The variables around a copy of a work, by what they are to it.

    Attributes:
        replicated: axes that it lacks, along which every index executes it.
        chosen: axes that it lacks, along which one index executes it.
        spare: sequential loops that it is not within.
    """

    replicated: tuple[Frame, ...]
    chosen: tuple[Frame, ...]
    spare: tuple[Frame, ...]


class Instances:
    """Checks works one by one; what was shown once for several statements is not shown again."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._shown: set[Hashable] = set()

    def check(self, work: Work) -> None:
        """Check that the copies of a work are all of its instances.

        Raises:
            WrongInstances: if one is missing, executed twice, or there is one too many.
        """
        self._cover(work, work.copies, {})

    def _cover(self, work: Work, copies: Sequence[Copy], fixed: Mapping[str, int]) -> None:
        """Check the copies at those points where some inames have fixed values."""
        if len(copies) == 1:
            if not self._is_shown(work, copies[0], fixed):
                self._compare(work, copies, fixed)
            return
        iname = _unrolled(copies, fixed) if copies else None
        if iname is None:
            self._compare(work, copies, fixed)
            return
        groups: dict[int, list[Copy]] = {}
        for copy in copies:
            value = number(copy.values[iname])
            assert value is not None
            groups.setdefault(value, []).append(copy)
        self._check_range(work, iname, sorted(groups), fixed)
        for value, group in groups.items():
            self._cover(work, group, {**fixed, iname: value})

    def _check_range(
        self, work: Work, iname: str, values: Sequence[int], fixed: Mapping[str, int]
    ) -> None:
        """Check that an iname that is unrolled has no other values than these."""
        forms = self._view.constraints(work.insn.within_inames)
        if forms is not None and values[-1] - values[0] + 1 == len(values):
            at = {i: constant(v) for i, v in fixed.items()}
            cone = Cone([substituted(form, at) for form in forms])
            low = plus(of_atom(iname), constant(-values[0]))
            high = plus(constant(values[-1]), of_atom(iname), -1)
            if cone.implies(low) and cone.implies(high):
                return
        covered = [where({iname: value}) for value in values]
        left = self._wanted(work, fixed).subtract(reduce(isl.Set.union, covered))
        self._check_empty(self._undecided(left, work), work, "is not executed")

    # --- the cheap way

    def _is_shown(self, work: Work, copy: Copy, fixed: Mapping[str, int]) -> bool:
        """Tell whether plain arithmetic shows that a statement covers what it should."""
        insn, frame = work.insn, copy.statement.frame
        moved = {i: v for i, v in copy.values.items() if v != of_atom(i)}
        loops = self._loops(work, copy)
        shown = (frame, insn.within_inames, insn.predicates, loops, _hashable(moved), tuple(fixed))
        if shown in self._shown:
            return True
        forms = self._view.constraints(insn.within_inames)
        if forms is None or loops.spare or not _takes_all(forms, copy, fixed):
            return False
        known = self._view.facts(frame)
        wanted = Facts([substituted(form, moved) for form in forms] if moved else list(forms))
        for predicate in insn.predicates:
            wanted.add(predicate, copy.terms, self._view.is_integer)
        if not wanted.others.keys() <= known.others.keys():
            return False
        for axis in loops.replicated:
            wanted = wanted.and_(self._view.own_facts(axis))
        for axis in loops.chosen:
            wanted.affine += self._first_index(axis)
        wanted.affine += self._view.facts(self._view.root).affine
        if not self._follow(known, wanted):
            return False
        if not (
            all_follow(wanted.affine, known.affine, self._view.steps)
            and all_follow(known.affine, wanted.affine, self._view.steps)
        ):
            return False
        self._shown.add(shown)
        return True

    def _follow(self, known: Facts, wanted: Facts) -> bool:
        """Tell whether conditions that are no constraints are wanted, or follow from what is."""
        others = [known.others[name] for name in known.others.keys() - wanted.others.keys()]
        if not others:
            return True
        cone = Cone(wanted.affine, self._view.steps)
        return all(follows_by_a_part(*each, cone, self._view.is_integer) for each in others)

    def _first_index(self, axis: Frame) -> list[Polynomial]:
        """Return what says that the index along an axis is the first."""
        assert axis.name is not None
        assert axis.parent is not None
        first = self._view.terms(axis.parent).index(axis.first)
        difference = plus(of_atom(axis.name), first, -1)
        return [difference, scaled(difference, -1)]

    def _loops(self, work: Work, copy: Copy) -> _Loops:
        kernel, within = self._view.kernel, work.insn.within_inames
        space = AddressSpace.PRIVATE  # as that of accumulators
        if not work.insn.written_names:
            space = AddressSpace.GLOBAL  # what it does, others may see
        # Of several assignees, all are written by the same work items.
        for written in work.insn.written_names[:1]:
            if written in kernel.variables:
                space = kernel.address_space(written)
        own = {kernel.tags.get(iname) for iname in within}
        parts: tuple[list[Frame], list[Frame], list[Frame]] = [], [], []
        lacking = {axis: tag for tag, axis in copy.statement.frame.axes.items() if tag not in own}
        for frame in copy.statement.frame.outwards():
            if frame in lacking:
                parts[not isinstance(lacking[frame], _COPIES[space])].append(frame)
            elif frame.name is not None and frame.role not in HARDWARE and frame.name not in within:
                parts[2].append(frame)
        return _Loops(*map(tuple, parts))

    # --- the exact way

    def _compare(self, work: Work, copies: Sequence[Copy], fixed: Mapping[str, int]) -> None:
        """Check by isl that the copies together are those points, each once."""
        wanted = self._wanted(work, fixed)
        images: list[isl.Set] = []
        for copy in copies:
            loops = self._loops(work, copy)
            image = self._image(work, copy, loops)
            for axis in loops.replicated:
                own = self._view.own_facts(axis)
                wanted = wanted.intersect(set_of(self._view, own)[0])
            images.append(image)
        for first, second in combinations(images, 2):
            self._check_empty(first.intersect(second), work, "is executed twice")
        together = reduce(isl.Set.union, images, universe().complement())
        left = self._undecided(wanted.subtract(together), work)
        self._check_empty(left, work, "is not executed")
        self._check_empty(together.subtract(wanted), work, "is executed, and should not be")

    def _wanted(self, work: Work, fixed: Mapping[str, int]) -> isl.Set:
        """Return the points at which a work has to be executed, as far as data does not decide."""
        wanted = domain_of(self._view.kernel, work.insn.within_inames).intersect(self._view.known)
        if fixed:
            wanted = wanted.intersect(where(fixed))
        for predicate in work.insn.predicates:
            wanted = wanted.intersect(may_hold(predicate, self._view.integers))
        return wanted

    def _undecided(self, points: isl.Set, work: Work) -> isl.Set:
        """Leave out points that conditions forbid which are affine for numbers: ``i*i > 100``."""
        asked = work.insn.predicates
        names = frozenset[str]().union(*map(walk.free_variables, asked)) & work.insn.within_inames
        for _ in range(_MOST_POINTS if names else 0):
            if points.is_empty():
                break
            point = witness(points)
            values = {name: point[name] for name in names}
            here = where(values)
            at: dict[str, Expression] = dict(values)
            holds = [may_hold(walk.substitute(p, at), self._view.integers) for p in asked]
            left = reduce(isl.Set.intersect, holds, points.intersect(here))
            if not left.is_empty():
                return left
            points = points.subtract(here)
        return points

    def _image(self, work: Work, copy: Copy, loops: _Loops) -> isl.Set:
        """Return the points at which a statement executes a work.

        An axis along which every index executes it is a dimension, too.
        """
        image, conditions = executed(self._view, copy)
        self._check_conditions(work, copy, conditions, image)
        kept = work.insn.within_inames.union(
            axis.name for axis in loops.replicated if axis.name is not None
        )
        around = [f.name for f in copy.statement.frame.outwards() if f.name is not None]
        left_out = [name for name in around if name not in kept]
        for frame in (*loops.chosen, *loops.spare):
            assert frame.name is not None
            twice = image.intersect(_renamed(image, frame.name))
            twice = twice.intersect(less(frame.name).union(greater(frame.name)))
            self._check_empty(twice, work, "is executed more than once")
        return project_out(image, left_out)

    def _check_conditions(
        self, work: Work, copy: Copy, found: frozenset[Hashable], image: isl.Set
    ) -> None:
        """Check that what data decides is asked, and nothing else."""
        wanted = [(predicate, copy.terms) for predicate in work.insn.predicates]
        if self._left(wanted) == set(found):
            return
        asked = self._view.facts(copy.statement.frame).others.values()
        decided = Decided(image, self._view.integers)
        if self._left(wanted, decided) != self._left(asked, decided):
            raise fault(
                WrongInstances,
                self._view.kernel,
                f"{work.what} is executed under other conditions than the kernel says",
                work.origin,
            )

    def _left(
        self, conditions: Iterable[tuple[Expression, Terms]], decided: Decided | None = None
    ) -> set[Hashable]:
        """Return what data decides of conditions, where nothing else does."""
        facts = Facts()
        for condition, terms in conditions:

            def answer(node: Expression, terms: Terms = terms) -> Expression:
                found = None if decided is None else decided.condition(plain(node, terms))
                return found if isinstance(found, bool) else node

            facts.add(with_answers(condition, answer), terms, self._view.is_integer)
        return set_of(self._view, facts)[1]

    def _check_empty(self, points: isl.Set, work: Work, what: str) -> None:
        if points.is_empty():
            return
        point = witness(points)
        raise fault(
            WrongInstances,
            self._view.kernel,
            f"{described(self._view.kernel, work, point)} {what}",
            work.origin,
            point=point,
        )


_COPIES: Mapping[AddressSpace, tuple[type, ...]] = {
    AddressSpace.GLOBAL: (),
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


def _unrolled(copies: Sequence[Copy], fixed: Mapping[str, int]) -> str | None:
    """Return an iname with another number in each of several groups of the copies."""
    for iname in copies[0].statement.values:
        if iname in fixed or any(iname not in copy.stated for copy in copies):
            continue
        values = {number(copy.values[iname]) for copy in copies}
        if None not in values and len(values) > 1:
            return iname
    return None


def _takes_all(forms: Sequence[Polynomial], copy: Copy, fixed: Mapping[str, int]) -> bool:
    """Tell whether inames that are no loop have no other value in the domain."""
    stated = [iname for iname in copy.stated if iname not in fixed]
    if not stated:
        return True
    at = {i: constant(v) for i, v in fixed.items()}
    cone = Cone([substituted(form, at) for form in forms])
    differences = [plus(of_atom(iname), copy.values[iname], -1) for iname in stated]
    return all(cone.implies(d) and cone.implies(scaled(d, -1)) for d in differences)


def _hashable(values: Mapping[str, Polynomial]) -> Hashable:
    return frozenset((name, frozenset(value.items())) for name, value in values.items())


def _renamed(flat: isl.Set, name: str) -> isl.Set:
    position = flat.find_dim_by_name(_PARAM, name)
    return flat if position < 0 else flat.set_dim_name(_PARAM, position, name + OTHER)
