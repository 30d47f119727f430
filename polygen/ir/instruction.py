"""Instructions: what is executed for each point of a loop domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.source import SourceLocation


@dataclass(frozen=True)
class Assignment:
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

    def copy(self, **changes: Any) -> Assignment:
        """Return the instruction with some fields changed; itself if none is."""
        if all(getattr(self, name) == value for name, value in changes.items()):
            return self
        return replace(self, **changes)

    @cached_property
    def written(self) -> str:
        """The name of the variable that is written."""
        return ex.name_of(self.assignee)

    @property
    def reads(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates, subscripts of what it writes included."""
        index = ex.index_tuple(self.assignee) if isinstance(self.assignee, ex.Subscript) else ()
        return (self.expression, *index, *self.predicates)

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The assignee, then each subscript and each scalar that it evaluates, inames too."""
        first, *others = walk.accesses(self.assignee)
        for node in (self.expression, *self.predicates):
            others += walk.accesses(node)
        return first, *others

    @cached_property
    def reduction_inames(self) -> frozenset[str]:
        """The inames that its reductions run over."""
        return frozenset[str]().union(*(walk.reduction_inames(e) for e in self.reads))

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates, inames included, those of its reductions excluded."""
        if self.reduction_inames:
            return frozenset[str]().union(*(walk.free_variables(e) for e in self.reads))
        return frozenset([ex.name_of(access) for access in self.accesses[1:]])

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Assignment:
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

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Assignment:
        """Return the instruction with `rule` applied to its assignee, value and predicates."""
        assignee = rule(self.assignee)
        if not isinstance(assignee, ex.Variable | ex.Subscript):
            raise InternalError(f"instruction '{self.id}' would assign to {assignee!r}")
        return self.copy(
            assignee=assignee,
            expression=rule(self.expression),
            predicates=tuple(rule(p) for p in self.predicates),
        )
