"""Which instructions an argument such as ``within="writes:a and not id:load_*"`` means.

A query is made of ``id:``, ``tag:``, ``reads:``, ``writes:`` and ``iname:``, each before a name or
a pattern of names with ``*`` and ``?``, joined by ``and``, ``or``, ``not`` and parentheses.  A name
or pattern alone is one of ids.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias, cast

import lark

from polygen.errors import (
    MalformedQuery,
    NothingMatches,
    UnknownArgument,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
    UserError,
    did_you_mean,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.parser import load_grammar, located, parse_with
from polygen.source import caller_location

_Children: TypeAlias = list[Any]
_Query: TypeAlias = Callable[["_Facts"], frozenset[str]]  # the ids of the instructions


def matching(kernel: Kernel, within: str | Sequence[str] | None) -> tuple[Instruction, ...]:
    """Return the instructions that are meant, in their order.

    Parameters:
        kernel: the kernel.
        within: a query; several of these, any of which will do; or None for all instructions.

    Raises:
        MalformedQuery: if one is no query.
        UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if the kernel has no such
            id, iname, variable or tag.
        NothingMatches: if a query matches no instruction.
    """
    if within is None:
        return kernel.instructions
    queries = [within] if isinstance(within, str) else within
    found = frozenset[str]().union(*(_matching(kernel, query) for query in queries))
    return tuple([i for i in kernel.instructions if i.id in found])


def _matching(kernel: Kernel, text: str) -> frozenset[str]:
    read = parse_with(_parser(), text, "query", MalformedQuery, lambda _text, _at: _REMEDY)
    query = cast("_Query", read)
    found = query(_Facts(kernel, text))
    if not found:
        raise NothingMatches(
            f"no instruction of kernel '{kernel.name}' matches '{text}'",
            where=caller_location(),
            remedy=f"its instructions: {', '.join(kernel.instructions_by_id)}",
        )
    return found


_REMEDY = "write queries such as 'load_*' or 'writes:a and not (iname:j or tag:setup)'"


@functools.cache
def _parser() -> lark.Lark:
    return load_grammar(["query.lark"], ["query"], _Queries())


class _Facts:
    """What queries ask of a kernel."""

    def __init__(self, kernel: Kernel, text: str) -> None:
        self._kernel = kernel
        self._text = text

    @property
    def ids(self) -> frozenset[str]:
        """All instructions."""
        return frozenset(self._kernel.instructions_by_id)

    def having(self, kind: str, pattern: str, position: int) -> frozenset[str]:
        """Return the instructions that have a name of some kind.

        Raises:
            UnknownName: if `pattern` is a name of that kind that the kernel does not have.
        """
        names, known, error, what = _KINDS[kind]
        if pattern not in known(self._kernel) and "*" not in pattern and "?" not in pattern:
            raise located(
                error,
                f"kernel '{self._kernel.name}' has no {what} '{pattern}'",
                self._text,
                position,
                did_you_mean(pattern, known(self._kernel)),
            )
        return frozenset(
            [
                insn.id
                for insn in self._kernel.expanded.instructions
                if any(fnmatchcase(name, pattern) for name in names(self._kernel, insn))
            ]
        )


_Names: TypeAlias = Callable[[Kernel, Instruction], frozenset[str]]
_KINDS: dict[str, tuple[_Names, Callable[[Kernel], frozenset[str]], type[UserError], str]] = {
    "id": (
        lambda _, insn: frozenset((insn.id,)),
        lambda kernel: frozenset(kernel.instructions_by_id),
        UnknownInstruction,
        "instruction",
    ),
    "tag": (
        lambda _, insn: insn.tags,
        lambda kernel: frozenset[str]().union(*(insn.tags for insn in kernel.instructions)),
        UnknownName,
        "instruction with the tag",
    ),
    "reads": (
        lambda kernel, insn: insn.read_names.intersection(kernel.variables),
        lambda kernel: frozenset(kernel.variables),
        UnknownArgument,
        "argument or temporary",
    ),
    "writes": (
        lambda _, insn: frozenset(insn.written_names),
        lambda kernel: frozenset(kernel.variables),
        UnknownArgument,
        "argument or temporary",
    ),
    "iname": (
        lambda _, insn: insn.within_inames,
        lambda kernel: frozenset(kernel.inames),
        UnknownIname,
        "iname",
    ),
}


class _Queries:
    """What the rules of query.lark stand for."""

    def any_of(self, children: _Children) -> _Query:
        return lambda facts: frozenset[str]().union(*(child(facts) for child in children))

    def all_of(self, children: _Children) -> _Query:
        return lambda facts: facts.ids.intersection(*(child(facts) for child in children))

    def none_of(self, children: _Children) -> _Query:
        return lambda facts: facts.ids - children[0](facts)

    def having(self, children: _Children) -> _Query:
        *kind, name = children
        asked = kind[0].value if kind else "id"
        return lambda facts: facts.having(asked, name.value, name.start_pos)
