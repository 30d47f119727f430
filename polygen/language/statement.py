"""What one line of polygen's language says, before the rest of the kernel is known."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction as written: nothing is filled in.

    Attributes:
        assignees: what is written; nothing if it is a mark.
        values: what is assigned to each of them; ``a += b`` is read as ``a = a + b``.
        id: the id that was given, or None.
        dependencies: ids, or patterns of ids, as written.
        exhaustive: whether the dependencies are all there are (``dep=*...``).
        inames: the inames it is within, or None if that was left open.
        predicates: the conditions of its ``if=`` options.
        declared: the variables that the line declares (``<> t = ...``), each with the type that
            the declaration gives, or None.
        text: the line.
        mark: ``lbarrier``, ``gbarrier`` or ``nop`` if the line is ``... lbarrier`` or the like,
            which assigns nothing; else empty.
    """

    assignees: tuple[ex.Variable | ex.Subscript, ...] = ()
    values: tuple[Expression, ...] = ()
    id: str | None = None
    dependencies: tuple[str, ...] = ()
    exhaustive: bool = False
    inames: frozenset[str] | None = None
    predicates: tuple[Expression, ...] = ()
    declared: tuple[tuple[str, DType | None], ...] = ()
    text: str = ""
    mark: str = ""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions in it: what is written, its values, its conditions."""
        return (*self.assignees, *self.values, *self.predicates)

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that it writes."""
        return tuple([ex.name_of(assignee) for assignee in self.assignees])
