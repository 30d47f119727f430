"""Checks the order of exchanges of work items through shared memory.

Two instances in different groups of a launch are in no order.  Two in different work items of a
group are if a barrier stands between them that both execute, or, in a program without a grid, if
the loop over the work items ends between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.domains import all_reads
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.instance_order import Piece
from polygen.analysis.pairs.constant_distances import subscripts
from polygen.analysis.pairs.instance_pairs import Conflict, conflicts, piece_set, renamed, witness
from polygen.errors import WrongOrder
from polygen.ir.array import AddressSpace
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag
from polygen.validation.constraints import is_affine, to_set
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Role
from polygen.validation.points import executed, reached
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    names,
    of_atom,
    plus,
    scaled,
    substituted,
)
from polygen.validation.separation import (
    Position,
    Separation,
    is_asynchronous,
    is_in_piece,
)
from polygen.validation.touching import described, overlapping
from polygen.validation.view import View
from polygen.validation.works import Work, Works


@dataclass(frozen=True)
class _Pair:
    """Two works that touch a variable, the first one first, in one launch.

    Attributes:
        first, second: the works.
        name: the variable.
        other_name: the one that the second touches, if it is an array that may overlap the first.
        copies: the statements of each, in the launch.
        piece: which instances.
        conflict: those that touch one element.
    """

    first: Work
    second: Work
    name: str
    other_name: str | None
    copies: tuple[Sequence[Copy], Sequence[Copy]]
    piece: Piece
    conflict: Conflict


_Owner: TypeAlias = tuple[tuple[str, frozenset[tuple[object, int]]], ...]
_ELEMENT = "__element_"  # names of users do not begin so


class Exchange:
    """Checks what work items exchange.

    Parameters:
        view: the program.
        works: what it has to execute.
        without: barriers that are not looked at: the frames that they are in, and where.
    """

    def __init__(
        self, view: View, works: Works, without: frozenset[Position] = frozenset()
    ) -> None:
        self._view = view
        self._works = works
        self._separation = Separation(without)
        self._kernel = view.kernel
        self._executed: dict[tuple[str, Copy], isl.Set] = {}
        self._reached_by: dict[Frame, isl.Set] = {}
        self._shared: dict[tuple[Frame, Frame], bool] = {}
        self._by_id = {work.insn.id: work for work in works.all}
        self._users: dict[str, list[str]] = {}
        for work in works.all:
            for name in all_reads(view.kernel, work.insn).union(work.insn.written_names):
                self._users.setdefault(name, []).append(work.insn.id)

    def check(self) -> None:
        """Check everything that is exchanged.

        Raises:
            WrongOrder: if two instances that the kernel orders are in no order.
        """
        parallel = any(isinstance(t, GroupTag | LocalTag) for t in self._kernel.tags.values())
        if parallel or any(s.asynchronous for s in self._view.root.statements()):
            for pair in self._pairs():
                self._check(pair)

    def _pairs(self) -> Iterator[_Pair]:
        for name, other in self._exchanged():
            if other is None and self._has_one_owner_each(name):
                continue
            users, others = (self._users.get(n, ()) for n in (name, other or name))
            for ids in product(users, others):
                first, second = (self._by_id[i] for i in ids)
                if (
                    name not in first.insn.written_names
                    and (other or name) not in second.insn.written_names
                ):
                    continue
                pieces = list(self._works.order(first, second).before(*ids))
                if pieces:
                    yield from self._conflicting(ids, pieces, name, other)

    def _exchanged(self) -> Iterator[tuple[str, str | None]]:
        """Yield what several work items may touch, and arrays that may overlap."""
        for name in self._kernel.writers:
            if name in self._view.in_registers:  # see shuffles.py
                continue
            if self._kernel.address_space(name) is not AddressSpace.PRIVATE:
                yield name, None
        for name, other in sorted(overlapping(self._kernel)):
            if name in self._kernel.writers or other in self._kernel.writers:
                yield name, other

    def _has_one_owner_each(self, name: str) -> bool:
        """Tell whether subscripts show that one work item of a launch touches an element.

        For all that touches the variable, each index along an axis is one and the same function of
        the element's subscripts.  So pairs of these need not be looked at.
        """
        owners: dict[Frame, _Owner] = {}
        for insn_id in self._users.get(name, ()):
            work = self._by_id[insn_id]
            accesses = touched(self._works.kernel, insn_id).get(name, ())
            if not accesses:
                return False
            for copy, access in product(work.copies, accesses):
                launch, owner = copy.statement.frame.launch, self._owner(work, copy, access)
                if launch is None or owner is None or is_asynchronous(copy):
                    return False
                if owners.setdefault(launch, owner) != owner:
                    return False
        return True

    def _owner(self, work: Work, copy: Copy, access: Access) -> _Owner | None:
        """Return who touches an element: for each axis, its index in terms of subscripts."""
        forms = subscripts(self._works.kernel, access)
        found: list[tuple[str, frozenset[tuple[object, int]]]] = []
        for tag in sorted(copy.statement.frame.axes, key=str):
            index = self._index(work, copy, tag)
            mentioned = None if index is None else names(index)
            if index is None or mentioned is None or not mentioned <= work.insn.within_inames:
                return None
            values: dict[str, Polynomial] = {}
            for axis, form in enumerate(forms):
                iname = None if form is None else next(iter(form.terms), None)
                if form is not None and isinstance(iname, str) and form.terms == {iname: 1}:
                    element = of_atom(f"{_ELEMENT}{axis}")
                    values.setdefault(iname, plus(element, constant(form.constant), -1))
            if not mentioned <= values.keys():
                return None
            found.append((str(tag), frozenset(substituted(index, values).items())))
        return tuple(found)

    def _conflicting(
        self, ids: tuple[str, str], pieces: Sequence[Piece], name: str, other: str | None
    ) -> Iterator[_Pair]:
        first, second = (self._by_id[i] for i in ids)
        both = name, other or name
        space = self._kernel.address_space(name)
        found: list[Conflict] | None = None
        for launch in dict.fromkeys(copy.statement.frame.launch for copy in first.copies):
            here = tuple(
                [c for c in work.copies if c.statement.frame.launch is launch]
                for work in (first, second)
            )
            if launch is None or not all(here):
                continue
            if not (here[0][0].statement.frame.axes or any(map(is_asynchronous, here[0]))):
                continue
            hosts = {f.name for f in launch.outwards() if f.role is Role.HOST}
            for piece in pieces:
                if piece.less in hosts:
                    continue  # the host waits for each launch
                in_groups = space is not AddressSpace.LOCAL and _has_groups(launch)
                if not in_groups and self._separation.is_separated(
                    (here[0], here[1]), piece, both, space
                ):
                    continue  # whatever they touch
                if found is None:
                    found = list(conflicts(self._works.kernel, *ids, name, other))
                for conflict in found:
                    copies = here[0], here[1]
                    yield _Pair(first, second, name, other, copies, piece, conflict)

    def _check(self, pair: _Pair) -> None:
        pairs = piece_set(pair.conflict.pairs, pair.piece).intersect(self._view.known)
        if pairs.is_empty():
            return
        pairs = self._with_axes(pair, pairs)
        axes = pair.copies[0][0].statement.frame.axes
        groups = [tag for tag in axes if isinstance(tag, GroupTag)]
        for group in groups:
            same, differ = self._indices(pair, group)
            if self._kernel.address_space(pair.name) is not AddressSpace.LOCAL:
                why = "they are in different groups of one launch"
                self._refuse(pair, pairs.intersect(differ), why)
            pairs = pairs.intersect(same)
        kind = pair.conflict.kind
        heads = (
            pair.name if kind == "anti" else None,
            (pair.other_name or pair.name) if kind == "flow" else None,
        )
        space = self._kernel.address_space(pair.name)
        if self._separation.is_separated(pair.copies, pair.piece, heads, space):
            return
        self._check_waits(pair, heads, pairs)
        items = [tag for tag in axes if isinstance(tag, LocalTag)]
        differing = [pairs.intersect(self._indices(pair, tag)[1]) for tag in items]
        differing = [found for found in differing if not found.is_empty()]
        for copies in product(*pair.copies) if differing else ():
            if (
                is_in_piece(*copies, pair.piece)
                and not self._separation.are_apart(copies, pair.piece, heads, space)
                and self._may_share_a_group(*copies)
            ):
                points = self._executed_by(pair, copies)
                for found in differing:
                    here = found if points is None else found.intersect(points)
                    why = "they are in different work items, without a barrier between"
                    self._refuse(pair, here, why)

    def _check_waits(
        self, pair: _Pair, heads: tuple[str | None, str | None], pairs: isl.Set
    ) -> None:
        """Check that asynchronous copies are waited for before anything meets them."""
        for copies in product(*pair.copies) if not pairs.is_empty() else ():
            if not is_asynchronous(copies[0]) or not is_in_piece(*copies, pair.piece):
                continue
            if not self._separation.is_waited_for(copies, pair.piece, heads):
                points = self._executed_by(pair, copies)
                here = pairs if points is None else pairs.intersect(points)
                self._refuse(pair, here, "the first is asynchronous, and nothing waits for it")

    def _may_share_a_group(self, first: Copy, second: Copy) -> bool:
        """Tell whether a group may execute two statements: of versions of code, it executes one."""
        frames = first.statement.frame, second.statement.frame
        if frames not in self._shared:
            here, there = map(self._groups, frames)
            self._shared[frames] = not here.is_disjoint(there)
        return self._shared[frames]

    def _groups(self, frame: Frame) -> isl.Set:
        """Return the indices of the groups that may reach a frame, and the sizes for which."""
        if frame not in self._reached_by:
            found = reached(self._view, frame)[0]
            groups = {f.name for tag, f in frame.axes.items() if isinstance(tag, GroupTag)}
            kept = groups | {*self._kernel.parameters}
            others = [name for name in flat_names(found) if name not in kept]
            self._reached_by[frame] = project_out(found, others)
        return self._reached_by[frame]

    def _executed_by(self, pair: _Pair, copies: tuple[Copy, Copy]) -> isl.Set | None:
        """Return the pairs of instances that two statements execute; None if these are all."""
        if all(len(each) == 1 for each in pair.copies):
            return None
        first, second = (
            self._points(work, copy)
            for work, copy in zip((pair.first, pair.second), copies, strict=True)
        )
        return first.intersect(renamed(second, self._kernel.inames))

    def _points(self, work: Work, copy: Copy) -> isl.Set:
        """Return the instances of a work that a statement executes."""
        key = work.insn.id, copy
        if key not in self._executed:
            points = executed(self._view, copy)[0]
            kept = {*work.insn.within_inames, *self._kernel.parameters}
            left_out = [n for n in flat_names(points) if n not in kept]
            self._executed[key] = project_out(points, left_out)
        return self._executed[key]

    def _refuse(self, pair: _Pair, pairs: isl.Set, why: str) -> None:
        if pairs.is_empty():
            return
        point = witness(pairs)
        doubt = "" if pair.conflict.certain else ", for all that is known,"
        raise fault(
            WrongOrder,
            self._view.kernel,
            f"{described(self._view.kernel, pair.first, point)} has to come before "
            f"{described(self._view.kernel, pair.second, point, other=True)}, for both{doubt} "
            f"touch an element of '{pair.name}'; but {why}",
            pair.first.origin,
            pair.second.origin,
            point=point,
        )

    # --- indices of the hardware

    def _with_axes(self, pair: _Pair, pairs: isl.Set) -> isl.Set:
        """Return the pairs with what is known of the axes that the works are not within."""
        for work, copies, other in (
            (pair.first, pair.copies[0], False),
            (pair.second, pair.copies[1], True),
        ):
            own = {self._kernel.tags.get(iname) for iname in work.insn.within_inames}
            lacking = copies[0].statement.frame.axes.keys() - own
            if not lacking:
                continue
            points = reduce(isl.Set.union, (executed(self._view, copy)[0] for copy in copies))
            # What is computed may be another value for the other instance.
            points = project_out(points, [t.name for t in self._kernel.temporaries])
            pairs = pairs.intersect(renamed(points, self._kernel.inames) if other else points)
        return pairs

    def _indices(self, pair: _Pair, tag: HardwareTag) -> tuple[isl.Set, isl.Set]:
        """Return the pairs of instances with one index along an axis, and those with two."""
        first = self._index(pair.first, pair.copies[0][0], tag)
        second = self._index(pair.second, pair.copies[1][0], tag)
        others = {i: of_atom(i + OTHER) for i in self._kernel.inames}
        if first is None or second is None:
            return universe(), universe()  # it may be either
        distance = plus(first, substituted(second, others), -1)
        if not is_affine(distance, lambda _: True):
            return universe(), universe()
        same = to_set([distance, scaled(distance, -1)])
        above = to_set([plus(distance, constant(-1))])
        below = to_set([plus(scaled(distance, -1), constant(-1))])
        return same, above.union(below)

    def _index(self, work: Work, copy: Copy, tag: HardwareTag) -> Polynomial | None:
        """Return the index of an instance along an axis, in terms of the work's inames."""
        frame = copy.statement.frame.axes.get(tag)
        if frame is None or frame.name is None:
            return None
        assert frame.parent is not None
        variable = of_atom(frame.name)
        index = plus(variable, self._view.terms(frame.parent).index(frame.first), -1)
        for iname in work.insn.within_inames:
            if self._kernel.tags.get(iname) == tag:
                shift = plus(copy.values[iname], variable, -1)
                return plus(plus(of_atom(iname), shift, -1), plus(index, variable, -1))
        return index


def _has_groups(launch: Frame) -> bool:
    """Tell whether a launch has several groups."""
    return any(frame.role is Role.GROUP for frame in launch.inside())
