"""Base classes of instructions: all, those that assign, and those with opaque effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import Atomicity
from polygen.ir.cached import cached_property
from polygen.ir.changed import changed
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.offered import Offering
from polygen.ir.relation import InstanceRelation
from polygen.ir.substitution import invocations
from polygen.source import SourceLocation


def identical(first: object, second: object) -> bool:
    """Tell whether two values are one: expressions with 3 and with 3.0 are equal, but not one."""
    if first is second:
        return True
    if isinstance(first, tuple):
        some, others = cast("tuple[object, ...]", first), cast("tuple[object, ...]", second)
        return (
            isinstance(second, tuple)
            and len(some) == len(others)
            and all(map(identical, some, others))
        )
    return first == second and _numbers(first) == _numbers(second)


def _numbers(value: object) -> tuple[str, ...]:
    """Return the numbers in expressions, instructions, or tuples of these."""
    if isinstance(value, ex.ExpressionNode):
        return walk.numbers(value)
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return tuple([number for part in parts for number in _numbers(part)])
    if isinstance(value, Instruction):
        return _numbers(value.compared)
    return (repr(value),) if isinstance(value, int | float) else ()


@dataclass(frozen=True, kw_only=True)
class Options:
    """Rarely used options, which instructions of all kinds have.

    Attributes:
        tags: names that tell instructions from others: see `polygen.language.within`.
        groups: the groups that it is part of.
        conflicts_with_groups: groups that have begun and are not complete while it is executed
            never: it comes before all of such a group, or after all of it.
        priority: of instructions that may come next, the one with the highest does.
        no_sync_with: instructions, by their ids, between which and this one no work item has to
            wait for another because of variables in local memory (``"local"``), in global memory
            (``"global"``), or in either (``"any"``).  Lowering refuses what is wrong in this.
        happens_after: which instances of other instructions come before which of this one, where
            that is less than what `depends_on` says.
    """

    tags: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    conflicts_with_groups: frozenset[str] = frozenset()
    priority: int = 0
    no_sync_with: frozenset[tuple[str, str]] = frozenset()
    happens_after: frozenset[InstanceRelation] = frozenset()


class Instruction(Options, Offering):
    """Base class of all instructions.

    Attributes:
        id: the name that dependencies use.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        location: where the user wrote it; not part of its value.
    """

    id: str
    within_inames: frozenset[str]
    depends_on: frozenset[str]
    predicates: tuple[Expression, ...]
    location: SourceLocation | None

    def copy(self, **changes: Any) -> Self:
        """Return the instruction with some fields changed; itself if none is."""
        for name, value in changes.items():
            if not identical(getattr(self, name), value):
                return changed(self, **changes)
        return self

    def without(self, gone: Instruction) -> Self:
        """Return the instruction for a kernel that an instruction is taken out of.

        What that one comes after, this one does, too, if it depended on all of it.
        """
        before = self.depends_on
        if gone.id in before:
            before = before - {gone.id} | gone.depends_on
        return self.copy(
            depends_on=before,
            happens_after=frozenset([r for r in self.happens_after if r.first != gone.id]),
            no_sync_with=frozenset([n for n in self.no_sync_with if n[0] != gone.id]),
        )

    @cached_property  # which a field of a subclass may take the place of
    def assignees(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        """The variables and elements that it assigns to."""
        return ()

    @cached_property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that are written."""
        return tuple([ex.name_of(assignee) for assignee in self.assignees])

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates where its predicates hold, subscripts included."""
        return ()

    @property
    def reads(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates, subscripts of what it writes included."""
        return (*self.evaluated, *self.predicates)

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The assignees, then each subscript and each scalar that it evaluates, inames too."""
        return tuple(access for node in self.predicates for access in walk.accesses(node))

    @property
    def compared(self) -> tuple[object, ...]:
        """Expressions, and instructions, that have all numbers in them which it has."""
        return (*self.assignees, *self.reads)

    @cached_property
    def invocations(self) -> tuple[ex.Invocation, ...]:
        """Its invocations of substitution rules, those in assignees included."""
        nodes = (*self.assignees, *self.reads)
        return tuple([found for node in nodes for found in invocations(node)])

    @cached_property
    def reductions(self) -> tuple[ex.Reduction, ...]:
        """Its reductions, those inside of others after them."""
        return tuple([found for node in self.reads for found in walk.reductions(node)])

    @cached_property
    def reduction_inames(self) -> frozenset[str]:
        """The inames that its reductions run over."""
        return frozenset([iname for found in self.reductions for iname in found.inames])

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, inames included, those of its reductions excluded."""
        return NO_NAMES.union(*(walk.free_variables(e) for e in self.reads))

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to what it evaluates (see `reads`)."""
        return self.copy(predicates=tuple(rule(p) for p in self.predicates))

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to its assignees, values and predicates."""
        return self.copy(predicates=tuple(rule(p) for p in self.predicates))


class Assigning(Instruction):
    """Base class of instructions that assign: all is read before anything is written."""

    @cached_property
    def atomicity(self) -> Atomicity | None:
        """Its atomicity; None if it is not atomic."""
        return None

    @cached_property
    def updated(self) -> ex.Variable | ex.Subscript | None:
        """The element that it updates atomically; None if it updates none."""
        return None

    @cached_property
    def commuting(self) -> str:
        """The operation of its updates, if these may come in any order; else nothing."""
        return ""

    @cached_property
    def asynchronous(self) -> bool:
        """Whether it is a copy that may be carried out later than it is reached."""
        return False

    @cached_property
    def values(self) -> tuple[Expression, ...]:
        """The assigned values, one for each assignee."""
        raise NotImplementedError

    @property
    def pairs(self) -> tuple[tuple[ex.Variable | ex.Subscript, Expression], ...]:
        """Each of the assignees with its value."""
        return tuple(zip(self.assignees, self.values, strict=True))

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The values, and the subscripts of what is written."""
        return (*self.values, *[i for assignee in self.assignees for i in ex.index_of(assignee)])

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The assignees, then each subscript and each scalar that it evaluates, inames too."""
        others: list[ex.Subscript | ex.Variable] = []
        for assignee in self.assignees:
            for index in ex.index_of(assignee):
                others += walk.accesses(index)
        for node in (*self.values, *self.predicates):
            others += walk.accesses(node)
        return (*self.assignees, *others)

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, inames included, those of its reductions excluded."""
        if self.reduction_inames:
            return NO_NAMES.union(*(walk.free_variables(e) for e in self.reads))
        evaluated = self.accesses[len(self.assignees) :]
        return frozenset([ex.name_of(access) for access in evaluated])

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to what it evaluates (see `reads`)."""
        assignees = [with_index(assignee, rule) for assignee in self.assignees]
        return self._with(assignees, rule)

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to its assignees, values and predicates."""
        assignees: list[ex.Variable | ex.Subscript] = []
        for assignee in map(rule, self.assignees):
            if not isinstance(assignee, ex.Variable | ex.Subscript):
                raise InternalError(f"instruction '{self.id}' would assign to {assignee!r}")
            assignees.append(assignee)
        return self._with(assignees, rule)

    def _with(
        self,
        assignees: Sequence[ex.Variable | ex.Subscript],
        rule: Callable[[Expression], Expression],
    ) -> Self:
        return self.with_pairs(
            tuple(zip(assignees, map(rule, self.values), strict=True)),
            predicates=tuple([rule(p) for p in self.predicates]),
        )

    def with_pairs(
        self, pairs: Sequence[tuple[ex.Variable | ex.Subscript, Expression]], **changes: Any
    ) -> Self:
        """Return the instruction with other assignees and values, as many as there are."""
        raise NotImplementedError


class Opaque(Assigning):
    """Base class of instructions that have assignees, and no values of their own."""

    @cached_property
    def values(self) -> tuple[Expression, ...]:
        """Nothing: it does not say what it assigns."""
        return ()

    @property
    def pairs(self) -> tuple[tuple[ex.Variable | ex.Subscript, Expression], ...]:
        """Nothing: it does not say what it assigns."""
        return ()

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, or may read."""
        return NO_NAMES.union(*(walk.free_variables(e) for e in self.reads))


def with_index(
    assignee: ex.Variable | ex.Subscript, rule: Callable[[Expression], Expression]
) -> ex.Variable | ex.Subscript:
    """Return what is written with `rule` applied to its subscripts."""
    index = ex.index_of(assignee)
    new = tuple([rule(i) for i in index])
    if not isinstance(assignee, ex.Subscript) or new == index:
        return assignee
    return ex.Subscript(assignee.aggregate, new[0] if len(new) == 1 else new)
