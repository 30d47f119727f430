"""Blocks of instructions: ``if``, ``for`` and ``with``, each of which ``end`` closes; ``break``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from polygen.errors import (
    InvalidArgument,
    MalformedInstruction,
    UnknownIname,
    UserError,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.language.option_nodes import Block
from polygen.language.parser import located, parse_block
from polygen.language.said import Guard, Said
from polygen.language.while_loops import Break, LoopBegin, LoopEnd
from polygen.source import caller_location

_WORD = re.compile(r"\s*(if|elif|else|for|break|with|end)\b(?!\s*(?:[-+*/]?=(?!=)|\[))")


def is_block(line: str) -> bool:
    """Tell whether a line opens, continues or closes a block."""
    return _WORD.match(line) is not None


@dataclass
class Chain:
    """An ``if`` with its ``elif`` and ``else``.

    Attributes:
        number: its number among all of a text.
        tried: the conditions so far, of which none holds in the next branch.
        complete: whether there was an ``else``.
    """

    number: int
    tried: list[Expression] = field(default_factory=list[Expression])
    complete: bool = False

    def branch(self, conditions: tuple[Expression, ...]) -> Said:
        """Return what the next branch says: its condition holds, those before do not."""
        self.complete = not conditions
        guards = tuple([Guard(self.number, c) for c in (*self.tried, *conditions)])
        denied = tuple([ex.LogicalNot(condition) for condition in self.tried])
        self.tried += conditions
        return Said(predicates=(*denied, *conditions), guards=guards)


@dataclass
class _Open:
    """A block that is not closed yet.

    Attributes:
        line: the line that opened it.
        number: of that line.
        outside: what holds around it.
        said: what holds inside.
        chain: for an ``if``, its branches.
        is_loop: whether it is a ``for``.
    """

    line: str
    number: int
    outside: Said
    said: Said
    chain: Chain | None = None
    is_loop: bool = False


class Blocks:
    """The blocks that are open where the text has been read so far."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._chains = 0
        self._loops: dict[str, tuple[str, int]] = {}  # inames, with the line that names each first

    @property
    def said(self) -> Said:
        """The options that open blocks give to an instruction that stands here."""
        return self._open[-1].said if self._open else Said()

    def read(self, line: str, number: int) -> LoopBegin | LoopEnd | Break | None:
        """Go on behind a line that opens, continues or closes a block.

        Returns:
            What the line says of a loop, if it is one's beginning or end, or a ``break``.

        Raises:
            MalformedInstruction: if it is not in the language, or cannot stand here.
        """
        block = parse_block(line)
        for iname in block.said.more_inames:
            self._loops.setdefault(iname, (line, number))
        if block.word == "break":
            return Break(block.condition, self.said, line)
        if block.word in ("if", "for", "with"):
            opened = _Open(line, number, self.said, block.said.inside(self.said))
            opened.is_loop = block.word == "for"
            self._open.append(opened)
            if block.word == "for":
                return LoopBegin(block.inames, block.condition, opened.outside, line)
            if block.word == "if":
                opened.chain = Chain(self._chains)
                self._chains += 1
                _enter_branch(opened, opened.chain, block)
        elif not self._open:
            raise _wrong(f"'{block.word}' without a block", line, number, _NO_BLOCK[block.word])
        elif block.word == "end":
            return LoopEnd() if self._open.pop().is_loop else None
        else:
            self._continue(block, line, number)
        return None

    def _continue(self, block: Block, line: str, number: int) -> None:
        opened = self._open[-1]
        if opened.chain is None:
            raise _wrong(
                f"'{block.word}' in a block that is no 'if': line {opened.number} opened it, "
                f"'{opened.line.strip()}'",
                line,
                number,
                "close that one with 'end' before",
            )
        if opened.chain.complete:
            raise _wrong(
                f"'{block.word}' after 'else' of the 'if' in line {opened.number}",
                line,
                number,
                "'else' is the last branch",
            )
        _enter_branch(opened, opened.chain, block)

    def check_can_hold(self, insn: Instruction) -> None:
        """Raise InvalidArgument if an instruction that is no text stands in a block."""
        if self._open:
            raise InvalidArgument(
                f"instruction '{insn.id}' is no text, and stands in the block that line "
                f"{self._open[-1].number} opened, '{self._open[-1].line.strip()}'",
                where=caller_location(),
                remedy="blocks change what is written inside of them: write it as text, or put it "
                "outside",
            )

    def check_inames(self, inames: Collection[str], new: Collection[str | None]) -> None:
        """Raise UnknownIname if a ``for`` names what is neither an iname nor a new one.

        Of new inames, some may have no name yet: then nothing is raised here.
        """
        known = (*inames, *(name for name in new if name))
        for iname, (line, number) in self._loops.items():
            if iname not in known and None not in new:
                found = re.search(rf"\b{iname}\b", line)
                column = found.start() if found else 0
                remedy = did_you_mean(iname, known)
                what = f"line {number}: no domain has an iname '{iname}'"
                raise located(UnknownIname, what, line, column, remedy)

    def check_closed(self) -> None:
        """Raise MalformedInstruction if a block is open at the end."""
        if self._open:
            opened = self._open[-1]
            raise _wrong(
                "this block is never closed", opened.line, opened.number, "write 'end' behind it"
            )


def _enter_branch(opened: _Open, chain: Chain, block: Block) -> None:
    """Let what follows be a branch of an ``if``."""
    opened.said = chain.branch(block.said.predicates).inside(opened.outside)


_NO_BLOCK = {
    "end": "each 'end' closes one 'if', 'for' or 'with': leave this one out",
    "else": "write 'if' and a condition before",
    "elif": "write 'if' for the first condition",
}


def _wrong(what: str, line: str, number: int, remedy: str) -> UserError:
    column = len(line) - len(line.lstrip())
    return located(MalformedInstruction, f"line {number}: {what}", line, column, remedy)
