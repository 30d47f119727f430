"""One parsed line of polygen's language, before the rest of the kernel is known."""

from __future__ import annotations

import json
from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.atomicity import Atomicity
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
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
class Library:
    """``library("gemm", a, b, alpha=2, trans_a="T")``: what stands there beside the values.

    Attributes:
        routine: its name.
        names: of the last of the statement's values, which are numbers.
        options: what is said by words.
    """

    routine: str
    names: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


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
        line: the line of text; empty for one that was never text.
        where: where that is, if not where the kernel is made.
        mark: ``lbarrier``, ``gbarrier`` or ``nop`` if the line is ``... lbarrier`` or the like,
            which assigns nothing; else empty.
        verbatim: what ``... code`` says, or None; the assignees are what that writes.
        library: the routine of a library that it calls, or None; the values are what that is given.
        call: the kernel that it calls: the assignees, and the values, are what that is given.
        sweeps: whether the names of axes in the parts of arrays that it gives may be inames.
    """

    assignees: tuple[Expression, ...] = ()
    values: tuple[Expression, ...] = ()
    declared: tuple[tuple[str, DType | None], ...] = ()
    is_auto: bool = False
    atomicity: Atomicity | None = None
    asynchronous: bool = False
    line: str = ""
    where: SourceLocation | None = None
    mark: str = ""
    verbatim: Verbatim | None = None
    library: Library | None = None
    call: str = ""
    sweeps: bool = False

    @property
    def text(self) -> str:
        """The line, or what it would be, for errors."""
        return self.line or _as_line(self)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions in it: what is written, its values, its conditions."""
        return (*self.assignees, *self.values, *self.predicates)

    @property
    def written_names(self) -> tuple[str, ...]:
        """The names of the variables that it writes."""
        return tuple([ex.name_of(assignee) for assignee in self.assignees])


def _as_line(said: Statement) -> str:
    """Return a statement that was never text as one."""
    options = [] if said.id is None else [f"id={said.id}"]
    if said.dependencies or said.exhaustive:
        options.append(f"dep={'*' if said.exhaustive else ''}{':'.join(said.dependencies)}")
    if said.inames is not None:
        options.append(f"inames={':'.join(sorted(said.inames))}")
    options += [f"if={show_expression(p)}" for p in said.predicates]
    return _of_text(said) + (f"  {{{', '.join(options)}}}" if options else "")


def _of_text(said: Statement) -> str:
    """Return what a statement that was never text does, as text."""
    left, values = (list(map(show_expression, s)) for s in (said.assignees, said.values))
    if said.mark:
        return f"... {said.mark}"
    if said.verbatim is not None:
        names = map("=".join, zip(said.verbatim.names, values, strict=True))
        return f"... code({', '.join(names)}) {json.dumps(said.verbatim.code)}"
    if said.library is not None:
        count = len(values) - len(said.library.names)
        numbers = map("=".join, zip(said.library.names, values[count:], strict=True))
        words = [f"{name}={json.dumps(word)}" for name, word in said.library.options]
        given = ", ".join([json.dumps(said.library.routine), *values[:count], *numbers, *words])
        return f"{', '.join(left)} = library({given})"
    return f"{', '.join(left)} = {', '.join(values)}"
