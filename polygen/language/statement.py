"""One parsed line of polygen's language, before the rest of the kernel is known."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.atomicity import Atomicity
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.language.said import Said
from polygen.source import SourceLocation


@dataclass(frozen=True, slots=True)
class Verbatim:
    """``... code(i, k=2*i) "text" reads(a)``: what the names stand for are the values.

    Attributes:
        names: what the text may use.
        code: the text.
        reads: the variables that it reads.
    """

    names: tuple[str, ...]
    code: str
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Statement(Said):
    """An instruction as written, and its options: nothing is filled in.

    Attributes:
        assignees: what is written; nothing if it is a mark.
        values: what is assigned to each of them; ``a += b`` is read as ``a = a + b``.
        declared: the variables that the line declares (``<> t = ...``), each with the type that
            the declaration gives, or None.
        is_auto: whether what it declares is in the address space that suits.
        atomicity: what its option ``atomic`` says, or None.
        asynchronous: whether it has the option ``asynchronous``.
        text: the line.
        where: where that is, if not where the kernel is made.
        mark: ``lbarrier``, ``gbarrier`` or ``nop`` if the line is ``... lbarrier`` or the like,
            which assigns nothing; else empty.
        verbatim: what ``... code`` says, or None; the assignees are what that writes.
        call: the kernel that it calls: the assignees, and the values, are what that is given.
        sweeps: whether the names of axes in the parts of arrays that it gives may be inames.
    """

    assignees: tuple[Expression, ...] = ()
    values: tuple[Expression, ...] = ()
    declared: tuple[tuple[str, DType | None], ...] = ()
    is_auto: bool = False
    atomicity: Atomicity | None = None
    asynchronous: bool = False
    text: str = ""
    where: SourceLocation | None = None
    mark: str = ""
    verbatim: Verbatim | None = None
    call: str = ""
    sweeps: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions in it: what is written, its values, its conditions."""
        return (*self.assignees, *self.values, *self.predicates)

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that it writes."""
        return tuple([ex.name_of(assignee) for assignee in self.assignees])
