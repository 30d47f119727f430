"""Makes the kernel in which tiles of a loop of time overlap.

Each tile has a box of places in local memory, for each array.  `ring` elements at each side are
never computed: they are loaded, or 0.  What depends on them is wrong, and moves inwards by as much
as sweeps reach.  After all steps of a tile, `wrong` elements at each side are: the rest is stored.

    |<- wrong ->|<----- stored ----->|<- wrong ->|
    | ring |<----------- computed -------->| ring |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    condition_set,
    form_condition,
    form_of_aff,
    pieces,
    set_condition,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain, intersection, project_out, unflatten, universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.splitting.time_sweeps import Sweep, TimeSweeps, refuse

Sides: TypeAlias = tuple[tuple[int, int], ...]  # along each axis, before and behind


@dataclass(frozen=True)
class Box:
    """The box of places that a tile has.

    Attributes:
        steps: how many steps of time a tile goes through.
        points: how many elements it computes along each axis, in each sweep.
        ring: how many at each side are not computed.
        wrong: how many at each side are not right after all steps.
    """

    steps: int
    points: tuple[int, ...]
    ring: Sides
    wrong: Sides

    @property
    def extents(self) -> tuple[int, ...]:
        """How many elements there are along each axis."""
        return tuple([n + sum(r) for n, r in zip(self.points, self.ring, strict=True)])

    @property
    def stored(self) -> tuple[int, ...]:
        """How many are right in the end: how far tiles are apart."""
        return tuple([n - sum(w) for n, w in zip(self.extents, self.wrong, strict=True)])


def box_of(found: TimeSweeps, steps: int, points: Sequence[int]) -> Box:
    """Return the box of a tile that computes so many points along each axis in each sweep."""
    ring: list[tuple[int, int]] = []
    wrong: list[tuple[int, int]] = []
    for axis in range(len(found.names)):
        before, behind = (_reach(found.sweeps, axis, way) for way in (-1, 1))
        ring.append((before, behind))
        wrong.append(
            (_wrong(found, steps, axis, -1, before), _wrong(found, steps, axis, 1, behind))
        )
    return Box(steps, tuple(points), tuple(ring), tuple(wrong))


def _reach(sweeps: Sequence[Sweep], axis: int, way: int) -> int:
    apart = [d[axis] * way for s in sweeps for found in s.reads.values() for d in found]
    return max([0, *apart])


def _wrong(found: TimeSweeps, steps: int, axis: int, way: int, ring: int) -> int:
    """Return how many elements at one side of a box are not right after some steps."""
    wrong = dict.fromkeys(found.carried, 0) | dict.fromkeys(found.others, ring)
    for _ in range(steps):
        for sweep in found.sweeps:
            reads = [
                wrong[name] + max([0, *(d[axis] * way for d in apart)])
                for name, apart in sweep.reads.items()
            ]
            wrong[sweep.array] = max([wrong[sweep.array], ring, *reads])
    return max(wrong[name] for name in found.carried)


def with_tiles(kernel: Kernel, found: TimeSweeps, box: Box) -> Kernel:
    """Return the kernel in which tiles go through steps of time.

    Two launches take turns: one reads the arrays and writes their copies, the other one does the
    reverse.  What is left of the loop of time, at least one step, is behind these: it writes what
    no iteration needs of the one before.

    Raises:
        NoOverlappedTiles: if the bounds of the loop of time are not affine.
    """
    first, last = _ends(kernel, found.time)
    draft = _Draft(kernel, found)
    draft.turn = draft.name(f"{found.time}_turn")
    turn, count = LinearForm.of_name(draft.turn), 2 * box.steps
    draft.add_domain([draft.turn], _not_negative(turn, last - first - turn * count - count))
    same = {name: name for name in found.carried}
    copies = {name: draft.array(name, "next", kernel.array(name).shape) for name in same}
    _Half(draft, box, first + turn * count, same, copies).make()
    _Half(draft, box, first + turn * count + box.steps, copies, same).make()
    over = (last - first) // count * count
    return draft.made(_not_negative(LinearForm.of_name(found.time) - first - over))


def _ends(kernel: Kernel, time: str) -> tuple[LinearForm, LinearForm]:
    """Return the first and the last step of a loop of time."""
    values = unflatten(domain_of(kernel, frozenset([time])), [time])
    found = [pieces(values.dim_min(0)), pieces(values.dim_max(0))]
    forms = [form_of_aff(piece) for ends in found for _, piece in ends[:1]]
    is_one = all(len(ends) == 1 for ends in found) and values.n_basic_set() == 1
    if not is_one or any(not isinstance(t, str) for form in forms for t in form.terms):
        raise refuse(
            kernel,
            time,
            f"the values of '{time}' do not run from one affine bound to another",
            "let it begin and end at a size each",
        )
    return forms[0], forms[1]


def _not_negative(*forms: LinearForm) -> isl.Set:
    return _set(form_condition(form) for form in forms)


def _set(conditions: Iterable[Expression]) -> isl.Set:
    found = universe()
    for condition in conditions:
        holds = condition_set(condition)
        assert holds is not None  # it is affine
        found = found.intersect(holds)
    return found


class _Draft:
    """What is new in a kernel, as far as it is made.

    Attributes:
        kernel: the kernel before.
        found: what is in its loop of time.
        turn: the loop over pairs of launches.
        ids: the new instructions.

    Parameters:
        kernel: the kernel before.
        found: what is in its loop of time.
    """

    def __init__(self, kernel: Kernel, found: TimeSweeps) -> None:
        self.kernel, self.found, self.turn = kernel, found, ""
        self._taken: set[str] = set(found.names)
        self._domains: list[Domain] = []
        self._temporaries: list[TemporaryVariable] = []
        self._orders: list[tuple[str, ...]] = []
        self._new: list[Assignment] = []
        inside = [i for i in kernel.instructions if found.time in i.within_inames]
        self._inside = frozenset([insn.id for insn in inside])
        self._before = frozenset[str]().union(*(i.depends_on for i in inside)) - self._inside

    def name(self, like: str) -> str:
        """Return a new name."""
        found = self.kernel.new_name(like, self._taken)
        self._taken.add(found)
        return found

    def array(self, name: str, like: str, shape: Any, space: Any = AddressSpace.GLOBAL) -> str:
        """Return the name of a new array, of the type of another one."""
        new = self.name(f"{name}_{like}")
        dtype = self.kernel.array(name).dtype
        self._temporaries.append(TemporaryVariable(new, dtype, shape, space))
        return new

    def add_domain(self, inames: Sequence[str], values: isl.Set) -> None:
        """Add loops with some values, a flat set; a domain for each, if they are independent."""
        alone = [project_out(values, [i for i in inames if i != iname]) for iname in inames]
        if len(inames) > 1 and reduce(intersection, alone).is_subset(values):
            parts = [([iname], each) for iname, each in zip(inames, alone, strict=True)]
        else:
            parts = [([*inames], values)]
        for names, each in parts:
            simple = each.gist(self.kernel.assumptions.flat).remove_redundancies()
            self._domains.append(Domain(unflatten(simple, names)))

    def add(
        self,
        like: str,
        loops: Sequence[str],
        assignee: ex.Subscript,
        value: Expression,
        **more: Any,
    ) -> None:
        """Add an instruction after all that are there."""
        self._orders.append((self.turn, *loops))
        before = self._before | {insn.id for insn in self._new}
        self._new.append(
            Assignment(
                id=self.name(like),
                assignee=assignee,
                expression=value,
                within_inames=frozenset(self._orders[-1]),
                depends_on=before,
                **more,
            )
        )

    def made(self, left: isl.Set) -> Kernel:
        """Return the kernel.

        Parameters:
            left: the steps of time that are left to the loop that was there.
        """
        old, time = self.kernel, self.found.time
        home = old.home_domains[time]
        rest = Domain(unflatten(intersection(home.flat, left), home.inames))
        ids = frozenset([insn.id for insn in self._new])
        instructions: list[Instruction] = []
        for insn in old.instructions:
            is_inside = insn.id in self._inside
            if is_inside and self._new[0] not in instructions:
                instructions += self._new
            instructions.append(insn.copy(depends_on=insn.depends_on | ids) if is_inside else insn)
        return old.copy(
            domains=(*(rest if d is home else d for d in old.domains), *self._domains),
            instructions=tuple(instructions),
            temporaries=(*old.temporaries, *self._temporaries),
            priorities=(*old.priorities, *dict.fromkeys(self._orders)),
        )


class _Half:
    """Tiles that read the arrays of some step of time, and write those of a later one.

    Parameters:
        draft: the kernel.
        box: the box of a tile.
        step: the step of time that they begin with.
        sources: the arrays that they read, by the names of those that the loop carries.
        targets: the arrays that they write.
    """

    def __init__(
        self,
        draft: _Draft,
        box: Box,
        step: LinearForm,
        sources: Mapping[str, str],
        targets: Mapping[str, str],
    ) -> None:
        self._draft, self._box, self._first = draft, box, step
        self._sources, self._targets = sources, targets
        self._found = draft.found
        self._axes = range(len(box.points))
        self._loops = [self._like(axis) for axis in self._axes]
        self._tiles = [draft.name(f"{loop}_tile") for loop in self._loops]
        self._own = {
            name: draft.array(name, "tile", box.extents, AddressSpace.LOCAL)
            for name in (*self._found.carried, *self._found.others)
        }

    def make(self) -> None:
        """Add the loops and the instructions."""
        self._draft.add_domain(self._tiles, self._all_tiles())
        for name in self._own:
            self._load(name)
        step = self._draft.name(f"{self._found.time}_step")
        now = LinearForm.of_name(step)
        self._draft.add_domain([step], _not_negative(now, -now + self._box.steps - 1))
        for sweep in self._found.sweeps:
            self._compute(sweep, step)
        for name in self._found.carried:
            self._store(name)

    # --- places

    def _like(self, axis: int) -> str:
        """Return the loop along an axis that new ones are called after."""
        found = [sweep.loops[axis] for sweep in self._found.sweeps]
        return next((loop for loop in found if loop is not None), self._found.names[axis])

    def _place(self, axis: int, inside: LinearForm) -> LinearForm:
        """Return the place of an element of the box."""
        apart, (wrong, _) = self._box.stored[axis], self._box.wrong[axis]
        return LinearForm.of_name(self._tiles[axis]) * apart + inside - wrong

    def _in_box(self, places: isl.Set, inside: Sequence[LinearForm]) -> isl.Set:
        """Return the tiles and elements of the box that have some places."""
        here = [
            form_condition(self._place(axis, inside[axis]) - LinearForm.of_name(name), True)
            for axis, name in enumerate(self._found.names)
        ]
        return project_out(places.intersect(_set(here)), self._found.names)

    def _all_tiles(self) -> isl.Set:
        """Return the tiles that have an element to store."""
        places = [self._found.written[name] for name in self._found.carried]
        whole = reduce(lambda a, b: a.union(b), places)
        inside = [self._draft.name("inside") for _ in self._axes]
        stored = zip(
            map(LinearForm.of_name, inside), self._box.stored, self._box.wrong, strict=True
        )
        ends = [f for i, n, w in stored for f in (i - w[0], -i + (w[0] + n - 1))]
        here = self._in_box(whole, list(map(LinearForm.of_name, inside)))
        tiles = project_out(here.intersect(_not_negative(*ends)), inside)
        return isl.Set.from_basic_set(tiles.remove_divs().simple_hull())

    def _range(self, kind: str, counts: Sequence[int]) -> tuple[list[str], isl.Set]:
        """Return new loops along all axes, and their values."""
        names = [self._draft.name(f"{loop}_{kind}") for loop in self._loops]
        forms = map(LinearForm.of_name, names)
        ends = [f for i, n in zip(forms, counts, strict=True) for f in (i, -i + (n - 1))]
        return names, _not_negative(*ends)

    def _element(self, name: str, inside: Sequence[LinearForm]) -> ex.Subscript:
        index = [form.expression() for form in inside]
        return ex.Subscript(ex.Variable(name), index[0] if len(index) == 1 else tuple(index))

    def _far(self, name: str, inside: Sequence[LinearForm]) -> ex.Subscript:
        """Return the element in global memory that an element of the box stands for."""
        return self._element(name, [self._place(axis, inside[axis]) for axis in self._axes])

    # --- instructions

    def _load(self, name: str) -> None:
        """Load the elements of an array that are read before they are computed."""
        if name in self._found.others:
            self._begin_ring(name)
            if name not in self._found.from_before:
                return
        source = self._sources.get(name)
        ring = [(0, 0) for _ in self._axes] if source else self._box.ring
        sizes = zip(self._box.extents, ring, strict=True)
        loops, values = self._range("load", [n - sum(around) for n, around in sizes])
        forms = map(LinearForm.of_name, loops)
        inside = [form + before for form, (before, _) in zip(forms, ring, strict=True)]
        all_of_it = self._in_box(self._found.touched[name], inside).intersect(values)
        self._draft.add_domain(loops, all_of_it)
        around = (*self._tiles, *loops)
        target = self._element(self._own[name], inside)
        if source == name:
            self._draft.add(f"{name}_load", around, target, self._far(name, inside))
            return
        is_there = set_condition(self._in_box(self._found.written[name], inside).gist(all_of_it))
        if source is not None:
            value = self._far(source, inside)
            self._draft.add(f"{name}_load", around, target, value, predicates=(is_there,))
        value, holds = self._far(name, inside), ex.LogicalNot(is_there)
        self._draft.add(f"{name}_rim", around, target, value, predicates=(holds,))

    def _begin_ring(self, name: str) -> None:
        """Let the ring of an array be 0 that is not loaded: what is computed of it is wrong."""
        reads = [d for sweep in self._found.sweeps for d in sweep.reads.get(name, ())]
        for axis in self._axes:
            for side, count in enumerate(self._box.ring[axis] if any(map(any, reads)) else ()):
                if not count:
                    continue
                # Corners belong to the first axis: no element is written twice.
                extents = [*self._box.points[:axis], count, *self._box.extents[axis + 1 :]]
                start = self._box.extents[axis] - count if side else 0
                starts = [*(before for before, _ in self._box.ring[:axis]), start]
                loops, values = self._range("ring", extents)
                self._draft.add_domain(loops, values)
                starts += [0] * (len(loops) - len(starts))
                inside = [LinearForm.of_name(i) + by for i, by in zip(loops, starts, strict=True)]
                target = self._element(self._own[name], inside)
                self._draft.add(f"{name}_ring", (*self._tiles, *loops), target, 0)

    def _compute(self, sweep: Sweep, step: str) -> None:
        loops, values = self._range("in", self._box.points)
        forms = map(LinearForm.of_name, loops)
        inside = [form + ring for form, (ring, _) in zip(forms, self._box.ring, strict=True)]
        self._draft.add_domain(loops, self._in_box(sweep.places, inside).intersect(values))
        now = (self._first + LinearForm.of_name(step)).expression()
        at: dict[str, Expression] = {self._found.time: now}
        for axis, (loop, form) in enumerate(zip(sweep.loops, sweep.written, strict=True)):
            if loop is not None:
                place = self._place(axis, inside[axis])
                at[loop] = (place - form + LinearForm.of_name(loop)).expression()

        def use(node: Expression) -> Expression:
            if not isinstance(node, ex.Subscript) or ex.name_of(node) not in self._own:
                return node
            forms = [linear_form(index) for index in ex.index_tuple(node)]
            apart = [f - w for f, w in zip(forms, sweep.written, strict=True) if f is not None]
            index = [i + by for i, by in zip(inside, apart, strict=True)]
            return self._element(self._own[ex.name_of(node)], index)

        value = walk.substitute(walk.rewrite(sweep.insn.expression, use), at)
        target = self._element(self._own[sweep.array], inside)
        around = (*self._tiles, step, *loops)
        self._draft.add(
            f"{sweep.insn.id}_in_tile", around, target, value, location=sweep.insn.location
        )

    def _store(self, name: str) -> None:
        """Store the elements of an array that are right in the end, and were written."""
        for piece in self._found.written[name].make_disjoint().get_basic_sets():
            loops, values = self._range("store", self._box.stored)
            forms = map(LinearForm.of_name, loops)
            inside = [f + wrong for f, (wrong, _) in zip(forms, self._box.wrong, strict=True)]
            places = self._in_box(isl.Set.from_basic_set(piece), inside)
            self._draft.add_domain(loops, places.intersect(values))
            value = self._element(self._own[name], inside)
            target = self._far(self._targets[name], inside)
            self._draft.add(f"{name}_store", (*self._tiles, *loops), target, value)
