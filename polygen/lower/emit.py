"""From the loop tree to loops: bounds, guards, unrolled copies.

Each subtree becomes an *item* (`items.py`): nodes, and the conditions under which they are
executed; an instruction becomes one in `statements.py`.  A loop takes on the conditions that all of
its items share and that do not depend on it, so that guards move outwards as far as they can;
neighbours with a condition in common share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import islpy as isl

from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, WaitNode, assignments
from polygen.analysis.pairs.instance_pairs import less, renamed
from polygen.errors import InternalError, NotUnrollable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.changed import changed
from polygen.ir.domain import (
    flat_names,
    intersection,
    project_out,
    universe,
)
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.tags import (
    MatrixTag,
    UnrollHintTag,
    VectorTag,
)
from polygen.ir.verify import excerpt
from polygen.lower.address import simplify
from polygen.lower.bounds import Bounds
from polygen.lower.conditions import Condition, has_values, reads_inside
from polygen.lower.early_ends import check_bounded, runs_in_launch
from polygen.lower.items import Item, Place, is_barrier, without, wrapped
from polygen.lower.launches import Grid
from polygen.lower.loop_ranges import LoopRanges
from polygen.lower.needed_guards import NeededGuards
from polygen.lower.program import Barrier, Block, Loop, Wait
from polygen.lower.separate import Separator
from polygen.lower.statements import Statements
from polygen.lower.uniform import check_uniform
from polygen.lower.vectorize import Vectors

_SHARED: frozenset[AddressSpace] = frozenset((AddressSpace.LOCAL, AddressSpace.GLOBAL))


class Emitter(LoopRanges):
    """Writes the assignments of one launch.

    Parameters:
        kernel: with types known and without reductions.
        grid: the axes of the launch: assignments that write shared memory and lack one are executed
            at its first value only.
        vector_bytes: the size of the largest vectors that are computed with.
        ends_partial_tiles: whether bounds of loops, rather than guards in them, say where partial
            tiles end.
    """

    def __init__(
        self, kernel: Kernel, grid: Grid, vector_bytes: int, *, ends_partial_tiles: bool
    ) -> None:
        super().__init__(kernel, ends_partial_tiles=ends_partial_tiles)
        arrays = {
            name: v
            for name, v in kernel.variables.items()
            if isinstance(v, GlobalArg | TemporaryVariable) and v.shape != ()
        } | {a.name: a for a in kernel.arguments if isinstance(a, GlobalArg)}
        self._is_alone = not grid.axes  # there is one work item
        self._vectors = Vectors(kernel, vector_bytes)
        self._guards = NeededGuards(
            frozenset(t.name for t in kernel.temporaries), kernel.home_domains
        )
        self._separate = Separator(kernel, grid)
        self._statements = Statements(kernel, grid.owners, arrays, self._guards, self._separate)
        self._taken: set[str] = set()  # names of what is read of others
        self._negative: set[str] = set()  # loops that may have negative values
        self.nonnegative: set[str] = set()
        self.exchanged = _SHARED  # what automatic barriers are for

    def block(self, nodes: Sequence[TreeNode], outer: Iterable[str], known: isl.Set) -> Block:
        """Return the assignments for `nodes`, which stand in the loops `outer`."""
        place = Place(frozenset(outer), known, {})
        if not self._separate.is_asked:
            return wrapped(self._items(nodes, place))
        return wrapped(self._versions(nodes, place))

    def _versions(self, nodes: Sequence[TreeNode], place: Place) -> list[Item]:
        """Return the items for each of the parts into which conditions outside of loops divide."""
        items: list[Item] = []
        for part, condition in self._separate.versions(nodes, place.loops, place.known):
            found = self._items(nodes, changed(place, known=part.of(place.known), part=part))
            asked = (Condition(condition),) if condition is not True else ()
            items += [changed(i, conditions=(*asked, *i.conditions)) for i in found]
        return items

    def _items(self, nodes: Sequence[TreeNode], place: Place) -> list[Item]:
        items: list[Item] = []
        for node in nodes:
            if isinstance(node, Assigning):
                if not any(p is False for p in self._statements.predicates(node, place)):
                    items += self._statement(node, place)
            elif isinstance(node, BarrierNode):
                seen = self.exchanged if node.insn_id is None else _SHARED
                items.append(Item((Barrier(seen),), synchronizes=True))
            elif isinstance(node, WaitNode):
                items.append(Item((Wait(),)))
            elif isinstance(node, LoopNode):
                items += self._loop(node, place)
            else:
                raise InternalError(f"'{node.id}' is no statement")
        return items

    def _statement(self, insn: Assigning, place: Place) -> list[Item]:
        """Return what an instruction becomes, behind what reads the registers of others for it.

        All work items do that, whatever they do then.
        """
        far = self._shuffles.of(insn.id)
        if not far:
            return [self._statements.item(insn, place)]
        names: dict[ex.Subscript, str] = {}
        for node in far:
            name = self._kernel.new_name(f"{ex.name_of(node)}_other", self._taken)
            names[node] = name
            self._taken.add(name)
        item = self._statements.item(_with_names(insn, names), place)
        uniform: list[Condition] = []
        for c in item.conditions:
            if self._is_uniform(c) and all(before in uniform for before in c.after):
                uniform.append(c)
        shuffles = [
            self._statements.shuffle(insn, node, (names[node], distance), place)
            for node, distance in far.items()
        ]
        return [*(Item((s,), tuple(uniform), synchronizes=True) for s in shuffles), item]

    # --- loops

    def _loop(self, node: LoopNode, place: Place) -> list[Item]:
        """Return what a loop becomes: one, or several in a row if code is separated."""
        if not self._separate.is_asked or self._is_unrolled(node):
            return self._one_loop(node, place)
        parts = self._separate.parts(node, place.loops, place.part)
        if len(parts) == 1:
            return self._one_loop(node, place)
        values = self._values(node, place.loops | {node.iname} | self._parallel(node))
        values = values.intersect(place.known)
        parts = [part for part in parts if not part.of(values).is_empty()]
        items: list[Item] = []
        for part in parts:
            # In each part, what is known is another set: guards are remembered by it.
            own = changed(place, part=part, known=place.known.copy())
            if part is parts[-1] and self._has_one_iteration(node, part.of(values)):
                node = changed(node, children=_before_the_end(node.children))
            items += self._one_loop(node, own, divided=True)
        return items

    def _has_one_iteration(self, node: LoopNode, values: isl.Set) -> bool:
        """Tell whether work items execute a loop with a barrier at its end at most once."""
        if not isinstance(node.children[-1], BarrierNode):
            return False
        together = project_out(values, sorted(self._local_inames.intersection(flat_names(values))))
        again = together.intersect(renamed(together, (node.iname,)))
        return again.is_disjoint(less(node.iname))

    def _one_loop(self, node: LoopNode, place: Place, *, divided: bool = False) -> list[Item]:
        unrolled = self._is_unrolled(node)
        bounds = (
            self._unrolled_bounds(node, place)
            if unrolled
            else self._bounds(node, place, divided=divided)
        )
        inner = changed(
            place,
            loops=place.loops | {node.iname},
            known=intersection(place.known, bounds.held),
        )
        if (value := bounds.only_value) is not None and self._may_stand_for(node, value):
            value = simplify(walk.substitute(value, place.values))
            values = {**place.values, node.iname: value}
            return self._items(node.children, changed(inner, values=values))
        if unrolled:
            vector = self._vector(node, bounds, inner)
            return self._unrolled(node, bounds, inner) if vector is None else [vector]
        if self._synchronizes(node):
            check_uniform(self._kernel, node, bounds)
        self._note_sign(node.iname, bounds)
        conditions, needed = self._around_data(node, bounds, place)
        inner = changed(inner, known=intersection(inner.known, needed))
        items = self._items(node.children, inner)
        outside = self._hoisted(items, node.iname, place)
        body = wrapped([without(item, outside) for item in items])
        hint = isinstance(self._kernel.tags.get(node.iname), UnrollHintTag | MatrixTag)
        lower, upper = (
            simplify(walk.substitute(e, place.values)) for e in (bounds.lower, bounds.upper)
        )
        runs = self._runs(node)
        loop = Loop(node.iname, lower, upper, body, bounds.step, unroll=hint, runs=runs)
        return [
            Item(
                (loop,) if body else (),
                (*conditions, *outside),
                NO_NAMES.union(*(item.writes for item in items)),
                any(item.synchronizes for item in items),
            )
        ]

    def _runs(self, node: LoopNode) -> Expression | None:
        """Return what a loop asks before each iteration, if something ends it early."""
        if not self._synchronizes(node):
            return runs_in_launch(self._kernel, node, alone=self._is_alone)
        check_bounded(self._kernel, node)
        return None

    def _may_stand_for(self, node: LoopNode, value: Expression) -> bool:
        """Tell whether a value may stand for an iname: data has a type, an iname's follows."""
        if all(n in self._separate.integers for n in walk.free_variables(value)):
            return True
        values = [v for insn in assignments(node.children) for _, v in insn.pairs]
        return not any(_is_outside_of_subscripts(node.iname, v) for v in values)

    def _vector(self, node: LoopNode, bounds: Bounds, place: Place) -> Item | None:
        """Return what executes an instruction for all lanes at once; None if nothing does.

        Where only some lanes are executed, it is one after the other.
        """
        if not isinstance(self._kernel.tags.get(node.iname), VectorTag) or bounds.constant is None:
            return None
        (insn,) = node.children
        assert isinstance(insn, Assigning)
        item = self._statements.item(insn, changed(place, lane=node.iname))
        if any(node.iname in condition.names for condition in item.conditions):
            return None
        loop = self._vectors.loop(insn, (node.iname, bounds.constant), item.nodes[0], place.known)
        return None if loop is None else changed(item, nodes=(loop,))

    def _note_sign(self, iname: str, bounds: Bounds) -> None:
        """Note whether an iname is never negative, in any of its loops."""
        if not _is_nonnegative(bounds.lower, self.nonnegative):
            self._negative.add(iname)
            self.nonnegative.discard(iname)
        elif iname not in self._negative:
            self.nonnegative.add(iname)

    def _around_data(
        self, node: LoopNode, bounds: Bounds, place: Place
    ) -> tuple[tuple[Condition, ...], isl.Set]:
        """Return what guards a loop whose bounds are computed, and the set where that holds.

        They must not be evaluated where they were not computed.
        """
        names = walk.free_variables(bounds.lower) | walk.free_variables(bounds.upper)
        data = [n for n in names if isinstance(self._kernel.variables.get(n), TemporaryVariable)]
        if not data:
            return (), universe()
        kept = place.loops | self._parallel(node)
        if self._synchronizes(node):
            kept -= self._local_inames
        needed = place.part.of(self._values(node, kept | {node.iname}))
        computed = [t.name for t in self._kernel.temporaries if t.name in flat_names(needed)]
        needed = project_out(needed, (node.iname, *computed))
        conditions = self._guards.of(kept | {node.iname}, needed, place.known, place.values)
        return conditions, needed

    def _unrolled(self, node: LoopNode, bounds: Bounds, place: Place) -> list[Item]:
        if bounds.constant is None:
            first, tag = next(assignments(node.children)), self._kernel.tags[node.iname]
            raise NotUnrollable(
                f"'{node.iname}' is tagged {tag}, but its number of iterations is not a constant",
                where=first.location,
                excerpt=excerpt(self._kernel, *(s.id for s in assignments(node.children))),
                remedy="split it by a constant and unroll the inner loop, or fix the parameters",
            )
        items: list[Item] = []
        for value in bounds.constant:
            copy = changed(place, values={**place.values, node.iname: value})
            last = value == bounds.constant[-1]
            items += self._items(_before_the_end(node.children) if last else node.children, copy)
        return items

    # --- guards

    def _hoisted(self, items: Sequence[Item], iname: str, place: Place) -> tuple[Condition, ...]:
        """Return the conditions of all items that may be asked once, before the loop."""
        guarded = [item for item in items if not is_barrier(item)]
        if not guarded:
            return ()
        written = NO_NAMES.union(*(item.writes for item in items))
        synchronizes = any(item.synchronizes for item in items)
        outside: list[Condition] = []
        for c in guarded[0].conditions:
            if (
                all(c in item.conditions for item in guarded[1:])
                and iname not in c.names
                and written.isdisjoint(c.names)
                and not (synchronizes and not self._is_uniform(c))
                and reads_inside(self._kernel, c, outside, place.known)
                and has_values(self._kernel, c, outside, place.known)
            ):
                outside.append(c)
        return tuple(outside)

    def _is_uniform(self, condition: Condition) -> bool:
        """Tell whether all work items of a group find the same."""
        return all(
            name not in self._local_inames
            and not isinstance(self._kernel.variables.get(name), TemporaryVariable)
            for name in condition.names
        )


def _with_names(insn: Assigning, names: Mapping[ex.Subscript, str]) -> Assigning:
    """Return an instruction with names for some elements that it reads."""

    def named(node: Expression) -> Expression:
        name = names.get(node) if isinstance(node, ex.Subscript) else None
        return node if name is None else ex.Variable(name)

    return insn.with_pairs(tuple([(to, walk.rewrite(value, named)) for to, value in insn.pairs]))


def _is_outside_of_subscripts(name: str, node: Expression) -> bool:
    if isinstance(node, ex.Variable):
        return node.name == name
    if isinstance(node, ex.Subscript) or name not in walk.free_variables(node):
        return False
    return any(_is_outside_of_subscripts(name, part) for part in walk.parts(node))


def _before_the_end(body: tuple[TreeNode, ...]) -> tuple[TreeNode, ...]:
    """Return a loop's body without the barrier that only its next iteration needs."""
    last = body[-1]
    return body[:-1] if isinstance(last, BarrierNode) and last.insn_id is None else body


def _is_nonnegative(node: Expression, names: set[str]) -> bool:
    if isinstance(node, int):
        return node >= 0
    if isinstance(node, ex.Variable):
        return node.name in names
    if isinstance(node, ex.Sum | ex.Product | ex.Min):
        return all(_is_nonnegative(child, names) for child in node.children)
    if isinstance(node, ex.Max):
        return any(_is_nonnegative(child, names) for child in node.children)
    return False
