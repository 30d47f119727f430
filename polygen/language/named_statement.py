"""A statement with its id."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.language.statement import Statement


@dataclass(frozen=True)
class NamedStatement:
    """One parsed instruction, with its id.

    Attributes:
        id: the id.
        statement: what it does, substitution rules expanded.
        written_as: the same before that.
    """

    id: str
    statement: Statement
    written_as: Statement

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the variables that it writes."""
        return self.statement.written_names

    @cached_property
    def subscript_names(self) -> frozenset[str]:
        """The names in the subscripts of what it writes."""
        return NO_NAMES.union(*map(_index_names, self.statement.assignees))

    def names_in(self, written: str) -> frozenset[str]:
        """Return the names that all subscripts have in which it writes one of its variables."""
        assignees = self.statement.assignees
        found = [_index_names(a) for a in assignees if ex.name_of(a) == written]
        return found[0].intersection(*found)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names that it evaluates, inames included, those of its reductions excluded."""
        parts = (*self.statement.values, *self.statement.predicates)
        verbatim = self.statement.verbatim
        named = NO_NAMES if verbatim is None else verbatim.reads
        return self.subscript_names.union(named, *(walk.free_variables(e) for e in parts))

    @cached_property
    def reduced(self) -> frozenset[str]:
        """The inames of its reductions."""
        line = self.statement.line
        if line and "(" not in line and not self.statement.predicates:
            return frozenset()
        return NO_NAMES.union(*(walk.reduction_inames(e) for e in self.statement.expressions))


def _index_names(assignee: Expression) -> frozenset[str]:
    """Return the names in the subscripts of what is written, names of axes left out."""
    if isinstance(assignee, ex.SubArrayRef):
        subscript = assignee.subscript
        extents = NO_NAMES.union(*(walk.free_variables(e) for _, e in assignee.extents))
        return _index_names(subscript).difference(assignee.swept_inames) | extents
    return NO_NAMES.union(*map(walk.free_variables, ex.index_of(assignee)))
