"""From an instruction to the statement that it becomes, and the conditions that this is under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import TypeAlias

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.decided_conditions import Decided, with_answers
from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import InternalError, MixedAssignees, SubscriptNotConstant
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array
from polygen.ir.domain import project_out
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, KernelCall, first_element
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.lower.address import linearize, simplify
from polygen.lower.conditions import Condition
from polygen.lower.items import Item, Place
from polygen.lower.needed_guards import NeededGuards
from polygen.lower.program import Assign, Call, Node, Shuffle, Verbatim
from polygen.lower.separate import Separator

Owners: TypeAlias = Mapping[GroupTag | LocalTag, tuple[str, Expression]]


class Statements:
    """Makes statements of instructions.

    Parameters:
        kernel: with types known and without reductions.
        owners: for each axis of the launch, the iname that stands for it and its first value:
            assignments that write shared memory and lack the axis are executed there only.
        arrays: the arrays of the kernel, by name.
        guards: finds what has to be asked around a statement.
        separate: knows into which parts code is separated.
    """

    def __init__(
        self,
        kernel: Kernel,
        owners: Owners,
        arrays: Mapping[str, Array],
        guards: NeededGuards,
        separate: Separator,
    ) -> None:
        self._kernel = kernel
        self._owners = owners
        self._arrays = arrays
        self._temporaries = frozenset(t.name for t in kernel.temporaries)
        self._guards = guards
        self._separate = separate
        # With the places, so that they keep their identity.
        self._decided: dict[tuple[int, frozenset[str]], tuple[Place, Decided]] = {}

    def _verbatim(self, insn: CInstruction, place: Place) -> Verbatim:
        names = tuple(
            [
                (name, self._linear(insn, walk.substitute(value, place.values)))
                for name, value in insn.iname_exprs
            ]
        )
        values = tuple((i, v) for i, v in place.values.items() if i in insn.within_inames)
        reads = tuple(sorted(insn.read_variables))
        writes = tuple(sorted(set(insn.written_names)))
        return Verbatim(names, insn.code, reads, writes, insn.id, values)

    def _call(self, insn: KernelCall, place: Place) -> Call:
        assert insn.callee is not None
        given: list[Expression] = []
        for node in insn.arguments:
            if isinstance(node, ex.SubArrayRef):
                array = ex.Variable(ex.name_of(node))
                given.append(ex.element(array, first_element(node)))
            else:
                given.append(node)
        final = [linearize(walk.substitute(g, place.values), self._arrays) for g in given]
        values = tuple((i, v) for i, v in place.values.items() if i in insn.within_inames)
        arrays = {ex.name_of(n) for n in insn.arguments if isinstance(n, ex.SubArrayRef)}
        writes = tuple(sorted(set(insn.written_names)))
        taken = insn.callee.arguments
        reads = tuple(sorted(arrays))
        return Call(insn.callee.name, tuple(final), taken, reads, writes, insn.id, values)

    def item(self, insn: Assigning, place: Place) -> Item:
        """Return the statement that an instruction becomes at a place, with its conditions.

        Raises:
            MixedAssignees: if several work items would have to write what it writes at once.
            SubscriptNotConstant: if a subscript that chooses an array, or a component, is none.
        """

        def final(node: Expression) -> Expression:
            if place.values:
                node = walk.substitute(node, place.values)
            return self._linear(insn, node, place.lane)

        pairs: list[tuple[ex.Variable | ex.Subscript, Expression]] = []
        for assignee, value in insn.pairs:
            target = final(assignee)
            if not isinstance(target, ex.Variable | ex.Subscript):
                raise InternalError(f"'{insn.id}' assigns to {target!r}")
            pairs.append((target, final(self._with_decided(insn, place, value))))
        conditions = (*self._statement_guards(insn, place), *self._owner_conditions(insn))
        found = self.predicates(insn, place)
        for predicate in (part for whole in found for part in _behind_flags(whole)):
            asked = walk.substitute(predicate, place.values)
            reads = tuple(e for e in walk.subexpressions(asked) if isinstance(e, ex.Subscript))
            computed = not self._temporaries.isdisjoint(walk.free_variables(asked))
            after = conditions if reads or computed else ()
            conditions = (*conditions, Condition(final(predicate), reads, after))
        values = tuple((i, v) for i, v in place.values.items() if i in insn.within_inames)
        node: Node
        if isinstance(insn, CInstruction):
            node = self._verbatim(insn, place)
        elif isinstance(insn, KernelCall):
            node = self._call(insn, place)
        else:
            others = tuple(pairs[1:])
            node = Assign(*pairs[0], insn.id, values, others, insn.atomicity, insn.asynchronous)
        return Item((node,), conditions, frozenset(insn.written_names))

    def shuffle(
        self, insn: Assigning, node: ex.Subscript, read: tuple[str, int], place: Place
    ) -> Shuffle:
        """Return what gives an element that another work item has a name.

        Parameters:
            insn: the instruction that reads it.
            node: the element.
            read: the name, and how many work items further on it is.
            place: where that is.
        """
        dtype = self._kernel.array(ex.name_of(node)).dtype
        element = self._linear(insn, walk.substitute(node, place.values))
        assert dtype is not None
        assert isinstance(element, ex.Subscript)
        return Shuffle(read[0], dtype, element, read[1])

    def predicates(self, insn: Assigning, place: Place) -> tuple[Expression, ...]:
        """Return an instruction's predicates, but those that hold, and False for one that does not.

        What part of a loop this is, or which copy of a body, may decide them.
        """
        found: Sequence[Expression] = insn.predicates
        if found and place.values:
            found = [with_answers(p, partial(self._in_copy, place.values)) for p in found]
        if place.part.points is not None:
            decided = Decided(place.known, self._separate.integers)
            found = [with_answers(p, decided.condition) for p in found]
        return tuple([p for p in found if p is not True])

    def _in_copy(self, values: Mapping[str, Expression], node: Expression) -> Expression:
        """Return whether a condition holds in a copy of a loop's body.

        If more decides that: the condition itself; with what inames stand for, a comparison that
        mentions loops and sizes alone.
        """
        names = walk.free_variables(node)
        if values.keys().isdisjoint(names) or not names <= self._separate.integers:
            return node
        asked = walk.substitute(node, values)
        found = condition_set(asked)
        if found is None:
            return node
        if isinstance(asked, ex.Comparison):
            asked = ex.Comparison(simplify(asked.left), asked.operator, simplify(asked.right))
        if not walk.free_variables(asked):
            return not found.is_empty()
        return asked if isinstance(asked, ex.Comparison) else node

    def _with_decided(self, insn: Assigning, place: Place, node: Expression) -> Expression:
        """Return a value without asking what is the same for all instances at this place."""
        if ex.If not in walk.classes(node):
            return node
        key = id(place), insn.within_inames
        if key not in self._decided:
            self._decided[key] = place, self._decided_at(place, insn.within_inames)
        return self._decided[key][1].choices(node)

    def _decided_at(self, place: Place, inames: frozenset[str]) -> Decided:
        integers = self._separate.integers
        known = place.part.of(domain_of(self._kernel, inames)).intersect(place.known)
        for iname, value in place.values.items():
            here = condition_set(ex.Comparison(ex.Variable(iname), "==", value), integers)
            known = known if here is None else known.intersect(here)
        if place.lane is not None:  # lanes beyond the end ask for themselves
            known = project_out(known, (place.lane,))
        return Decided(known, integers)

    def _linear(self, insn: Assigning, node: Expression, lane: str | None = None) -> Expression:
        """Return an expression of an instruction with offsets for subscripts."""
        try:
            return linearize(node, self._arrays, lane)
        except SubscriptNotConstant as error:
            error.where, error.excerpt = insn.location, excerpt(self._kernel, insn.id)
            raise

    def _statement_guards(self, insn: Assigning, place: Place) -> tuple[Condition, ...]:
        needed = domain_of(self._kernel, insn.within_inames)
        needed = place.part.of(needed)
        if place.lane is not None:
            # Where one lane is executed, all are, if sizes are such.
            some = project_out(needed, (place.lane,))
            needed = some if some.intersect(place.known).is_subset(needed) else needed
        return self._guards.of(insn.within_inames, needed, place.known, place.values)

    def _owner_conditions(self, insn: Assigning) -> tuple[Condition, ...]:
        """Return what makes one work item write shared memory where all would write the same.

        Raises:
            MixedAssignees: if that is not the same for all that the instruction writes.
        """
        spaces = [self._kernel.address_space(name) for name in insn.written_names]
        spaces = spaces or [AddressSpace.GLOBAL]
        first, *others = [tuple(self._owner(insn, space)) for space in spaces]
        if any(other != first for other in others):
            raise MixedAssignees(
                f"instruction '{insn.id}' writes {', '.join(insn.written_names)} at once, but not "
                "all of them are written by the same work items",
                where=insn.location,
                excerpt=excerpt(self._kernel, insn.id),
                remedy="declare them in one address space, or write an instruction for each",
            )
        return first

    def _owner(self, insn: Assigning, space: AddressSpace) -> Iterable[Condition]:
        own = {self._kernel.tags.get(i) for i in insn.within_inames}
        for tag, (iname, first) in self._owners.items():
            shared = space is AddressSpace.GLOBAL or (
                space is AddressSpace.LOCAL and isinstance(tag, LocalTag)
            )
            if shared and tag not in own:
                yield Condition(ex.Comparison(ex.Variable(iname), "==", first))


def _behind_flags(predicate: Expression) -> Iterator[Expression]:
    """Yield the scalars that a predicate asks first, which others may ask as well, and the rest."""
    if not isinstance(predicate, ex.LogicalAnd):
        yield predicate
        return
    flags = list(takewhile(lambda part: isinstance(part, ex.Variable), predicate.children))
    rest = predicate.children[len(flags) :]
    yield from flags
    if rest:
        yield rest[0] if len(rest) == 1 else ex.LogicalAnd(rest)
