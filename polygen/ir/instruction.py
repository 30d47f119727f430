"""Instructions: what is executed for each point of a loop domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, cast

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.source import SourceLocation


def identical(first: object, second: object) -> bool:
    """Tell whether two values are one: expressions with 3 and with 3.0 are equal, but not one."""
    return first is second or (first == second and _numbers(first) == _numbers(second))


def _numbers(value: object) -> list[str]:
    """Return the numbers in expressions, instructions, or tuples of these."""
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return [number for part in parts for number in _numbers(part)]
    if isinstance(value, Instruction):
        return _numbers((*value.assignees, *value.reads))
    if isinstance(value, ex.ExpressionNode):
        return _numbers(walk.parts(value))
    return [repr(value)] if isinstance(value, int | float) else []


class Instruction:
    """What all instructions have in common.

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
        if all(identical(getattr(self, name), value) for name, value in changes.items()):
            return self
        return replace(self, **changes)  # type: ignore[type-var]

    @property
    def assignees(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        """What it assigns to."""
        return ()

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that are written."""
        return tuple(ex.name_of(assignee) for assignee in self.assignees)

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """What it evaluates where its predicates hold: values, subscripts of what it writes."""
        return ()

    @property
    def reads(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates, subscripts of what it writes included."""
        return (*self.evaluated, *self.predicates)

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The assignees, then each subscript and each scalar that it evaluates, inames too."""
        return tuple(access for node in self.predicates for access in walk.accesses(node))

    @cached_property
    def reduction_inames(self) -> frozenset[str]:
        """The inames that its reductions run over."""
        return frozenset[str]().union(*(walk.reduction_inames(e) for e in self.reads))

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, inames included, those of its reductions excluded."""
        return frozenset[str]().union(*(walk.free_variables(e) for e in self.reads))

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to what it evaluates (see `reads`)."""
        return self.copy(predicates=tuple(rule(p) for p in self.predicates))

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to its assignees, values and predicates."""
        return self.copy(predicates=tuple(rule(p) for p in self.predicates))


@dataclass(frozen=True)
class Barrier(Instruction):
    """A point that all work items reach before any goes on.

    What it depends on is over, and visible to all, before what depends on it begins.

    Attributes:
        scope: who waits for each other: the work items of a group (``LOCAL``), or all
            (``GLOBAL``).
    """

    id: str
    scope: AddressSpace
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class NoOp(Instruction):
    """Does nothing: a point in the order that others may depend on."""

    id: str
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Assignment(Instruction):
    """``assignee = expression``, once for each value of the inames it is within.

    Attributes:
        id: the name that dependencies use.
        assignee: a variable or a subscript of an array.
        expression: what is assigned.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        location: where the user wrote it; not part of its value.
    """

    id: str
    assignee: ex.Variable | ex.Subscript
    expression: Expression
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)

    @property
    def assignees(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        """What it assigns to."""
        return (self.assignee,)

    @cached_property
    def written(self) -> str:
        """The name of the variable that is written."""
        return ex.name_of(self.assignee)

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The value, and the subscripts of what is written."""
        index = ex.index_tuple(self.assignee) if isinstance(self.assignee, ex.Subscript) else ()
        return (self.expression, *index)

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The assignee, then each subscript and each scalar that it evaluates, inames too."""
        first, *others = walk.accesses(self.assignee)
        for node in (self.expression, *self.predicates):
            others += walk.accesses(node)
        return first, *others

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, inames included, those of its reductions excluded."""
        if self.reduction_inames:
            return frozenset[str]().union(*(walk.free_variables(e) for e in self.reads))
        return frozenset([ex.name_of(access) for access in self.accesses[1:]])

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to what it evaluates (see `reads`)."""
        assignee = self.assignee
        if isinstance(assignee, ex.Subscript):
            index = tuple([rule(i) for i in ex.index_tuple(assignee)])
            if index != ex.index_tuple(assignee):
                assignee = ex.Subscript(assignee.aggregate, index[0] if len(index) == 1 else index)
        return self.copy(
            assignee=assignee,
            expression=rule(self.expression),
            predicates=tuple([rule(p) for p in self.predicates]),
        )

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to its assignee, value and predicates."""
        assignee = rule(self.assignee)
        if not isinstance(assignee, ex.Variable | ex.Subscript):
            raise InternalError(f"instruction '{self.id}' would assign to {assignee!r}")
        return self.copy(
            assignee=assignee,
            expression=rule(self.expression),
            predicates=tuple(rule(p) for p in self.predicates),
        )
