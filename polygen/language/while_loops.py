"""``for t while c`` and ``break if c``: what a condition ends, as flags that instructions ask.

    for t while r > 1e-3        t_runs = 1
        x = f(x)                for t
        break if x < 0              t_runs = if(t_runs and r > 1e-3, 1, 0)
        r = g(x)                    x = f(x)  {if=t_runs}
    end                             t_runs = if(t_runs and not x < 0, 1, 0)
                                    r = g(x)  {if=t_runs}

Once the flag is 0, nothing in the loop changes anything.  So the loop may stop there, or later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.language.parser import located
from polygen.language.said import Said
from polygen.language.statement import Statement
from polygen.source import SourceLocation, written_at

_FLAG = np.dtype(np.int32)


@dataclass(frozen=True)
class LoopBegin:
    """A line that opens a ``for``.

    Attributes:
        inames: what it names.
        condition: what follows ``while``, or None.
        outside: what the blocks around it say.
        line: the line.
        where: where that is, if not where the kernel is made.
    """

    inames: tuple[str, ...]
    condition: Expression | None
    outside: Said
    line: str
    where: SourceLocation | None = None


@dataclass(frozen=True)
class LoopEnd:
    """The line that closes a ``for``."""


@dataclass(frozen=True)
class Break:
    """A line that ends the loop of the ``for`` around it.

    Attributes:
        condition: what follows ``if``, or None.
        said: what the blocks around it say.
        line: the line.
        where: where that is, if not where the kernel is made.
    """

    condition: Expression | None
    said: Said
    line: str
    where: SourceLocation | None = None


Part: TypeAlias = Statement | LoopBegin | LoopEnd | Break


def ended_by_conditions(parts: Iterable[Part]) -> frozenset[str]:
    """Return the inames of loops that conditions may end: of all, if any condition ends one."""
    parts = tuple(parts)
    if not any(map(_ends_early, parts)):
        return NO_NAMES
    return frozenset([name for p in parts if isinstance(p, LoopBegin) for name in p.inames])


@dataclass
class _Loop:
    """A ``for`` that is open.

    Attributes:
        begin: the line that opens it.
        flag: what says whether it goes on; empty if nothing ends it early.
        before: what comes before a ``break`` here: what stands in it so far, by its id.
        after: the ids of the flag's writers so far, in order.
    """

    begin: LoopBegin
    flag: str = ""
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])


def with_flags(
    parts: Sequence[Part], names: Iterable[str], new_id: Callable[[Statement, set[str]], str]
) -> list[Statement]:
    """Return the statements, with flags for loops that a condition ends.

    Parameters:
        parts: the lines.
        names: those of the kernel, besides what the lines mention.
        new_id: gives a statement an id beside some that are taken.

    Raises:
        MalformedInstruction: if a ``while`` or a ``break`` is of no loop, or of several.
    """
    if not any(_ends_early(part) for part in parts):
        return [part for part in parts if isinstance(part, Statement)]
    return _Flags(parts, names, new_id).statements()


def _ends_early(part: Part) -> bool:
    return isinstance(part, Break) or (isinstance(part, LoopBegin) and part.condition is not None)


class _Flags:
    def __init__(
        self,
        parts: Sequence[Part],
        names: Iterable[str],
        new_id: Callable[[Statement, set[str]], str],
    ) -> None:
        self._parts = parts
        self._new_id = new_id
        given = [part for part in parts if isinstance(part, Statement)]
        self._ids = {part.id for part in given if part.id is not None}
        self._names = {*names}.union(*[_names(part) for part in parts])
        self._open: list[_Loop] = []
        self._found: list[Statement] = []
        self._ended: dict[str, LoopBegin] = {}  # by iname, the loop that a condition ends

    def statements(self) -> list[Statement]:
        """Return the statements."""
        needed = self._needed()
        for number, part in enumerate(self._parts):
            if isinstance(part, LoopBegin):
                self._begin(part, needed=number in needed)
            elif isinstance(part, LoopEnd):
                self._open.pop()
            elif isinstance(part, Break):
                self._break(part)
            else:
                self._add(part)
        return self._found

    def _needed(self) -> set[int]:
        """Return the numbers of the lines that open loops which a condition ends."""
        found: set[int] = set()
        around: list[int] = []
        for number, part in enumerate(self._parts):
            if isinstance(part, LoopBegin):
                around.append(number)
            elif isinstance(part, LoopEnd):
                around.pop()
            elif isinstance(part, Break) and not around:
                raise _refused(part, "'break' stands in no 'for'", "put it into a loop")
            if _ends_early(part):
                found.add(around[-1])
        return found

    # --- what lines become

    def _begin(self, part: LoopBegin, *, needed: bool) -> None:
        loop = _Loop(part)
        if not needed:
            self._open.append(loop)
            return
        if len(part.inames) != 1:
            names = ", ".join(part.inames)
            raise _refused(
                part,
                f"a condition ends a loop, and this 'for' is of several: {names}",
                "write a 'for' for each of them, one inside of the other",
            )
        (iname,) = part.inames
        if iname in self._ended:
            raise _refused(
                part,
                f"a condition ends the loop of '{iname}' already, which '"
                f"{self._ended[iname].line.strip()}' opened",
                "use an iname of its own",
            )
        self._ended[iname] = part
        flag = self._name(f"{iname}_runs")
        # So that the flag is 0 wherever the loop is not to be executed at all.
        conditions = self._around(part.outside)
        start = Statement(
            assignees=(ex.Variable(flag),),
            values=(ex.If(_all(conditions)[0], 1, 0) if conditions else 1,),
            declared=((flag, _FLAG),),
            is_auto=True,
            id=self._id(f"{iname}_begin"),
            exhaustive=True,
            line=part.line,
            where=part.where,
        )
        self._add(_unasked(start, part.outside), asks=False)
        loop.flag = flag
        loop.after.append(self._found[-1].id or "")
        self._open.append(loop)
        if part.condition is not None:
            self._head(loop, iname, part.condition)

    def _head(self, loop: _Loop, iname: str, condition: Expression) -> None:
        """Ask the condition of a ``while``, with what has been computed before."""
        read = walk.free_variables(condition)
        writers = [s.id for s in self._found if s.id and not read.isdisjoint(s.written_names)]
        inside = Said(more_inames=frozenset((iname,)), is_in_for=True).inside(loop.begin.outside)
        asked = Statement(
            assignees=(ex.Variable(loop.flag),),
            values=(self._where(loop, condition),),
            id=self._id(f"{iname}_head"),
            dependencies=tuple(writers),
            exhaustive=True,
            line=loop.begin.line,
            where=loop.begin.where,
        )
        self._add(_unasked(asked, inside), asks=False)
        loop.after.append(self._found[-1].id or "")

    def _break(self, part: Break) -> None:
        loop = self._open[-1]
        (iname,) = loop.begin.inames
        stop = part.said.predicates[len(loop.begin.outside.predicates) :]
        stop = stop if part.condition is None else (*stop, part.condition)
        goes_on = ex.LogicalNot(_all(stop)[0]) if stop else None
        ended = Statement(
            assignees=(ex.Variable(loop.flag),),
            values=(self._where(loop, goes_on) if goes_on is not None else 0,),
            id=self._id(f"{iname}_break"),
            dependencies=tuple(loop.before),
            line=part.line,
            where=part.where,
        )
        self._add(_unasked(ended, part.said), asks=False)
        loop.after.append(self._found[-1].id or "")

    def _add(self, statement: Statement, *, asks: bool = True) -> None:
        """Add a statement, which asks the flags of the loops around it.

        Parameters:
            statement: the statement.
            asks: whether it does that; not if its value does.
        """
        insn_id = statement.id or self._new_id(statement, self._ids)
        self._ids.add(insn_id)
        flagged = [loop for loop in self._open if loop.flag]
        after = [name for loop in flagged for name in loop.after]
        predicates = statement.predicates
        if flagged and asks and not statement.mark:
            flags = [ex.Variable(loop.flag) for loop in flagged]
            predicates = _all((*flags, *predicates))
        for loop in flagged:
            loop.before.append(insn_id)
        self._found.append(
            replace(
                statement,
                id=insn_id,
                predicates=predicates,
                dependencies=(*statement.dependencies, *after),
            )
        )

    def _around(self, outside: Said) -> tuple[Expression, ...]:
        """Return what holds where blocks around a loop are executed: flags, then conditions."""
        flags = [ex.Variable(loop.flag) for loop in self._open if loop.flag]
        return (*flags, *outside.predicates)

    def _where(self, loop: _Loop, condition: Expression) -> Expression:
        """Return 1 where the flag of the innermost loop is set and a condition holds, else 0.

        What is true around the loop wherever the flag is set is asked, too: it says which values
        are known there.
        """
        *outer, own = self._around(Said())
        asked = (*outer, *loop.begin.outside.predicates, own, condition)
        return ex.If(ex.LogicalAnd(asked), 1, 0)

    # --- names

    def _id(self, like: str) -> str:
        return _new(like, self._ids)

    def _name(self, like: str) -> str:
        return _new(like, self._names)


def _new(like: str, taken: set[str]) -> str:
    name, count = like, 0
    while name in taken:
        name, count = f"{like}_{count}", count + 1
    taken.add(name)
    return name


def _all(conditions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return one condition that asks all of them in order, each where those before hold."""
    return conditions if len(conditions) < 2 else (ex.LogicalAnd(conditions),)


def _unasked(statement: Statement, around: Said) -> Statement:
    """Return a statement inside of blocks whose conditions its value asks."""
    return statement.inside(replace(around, predicates=()))


def _names(part: Part) -> frozenset[str]:
    """Return the names that a line mentions."""
    if isinstance(part, LoopEnd):
        return NO_NAMES
    if isinstance(part, Statement):
        return NO_NAMES.union(*map(walk.free_variables, part.expressions))
    return NO_NAMES if part.condition is None else walk.free_variables(part.condition)


def _refused(part: LoopBegin | Break, what: str, remedy: str) -> Exception:
    line = part.line
    with written_at(part.where):
        return located(MalformedInstruction, what, line, len(line) - len(line.lstrip()), remedy)
