"""The query language for instructions: ``writes:a and not id:load_*``.

A query is made of ``id:``, ``tag:``, ``reads:``, ``writes:`` and ``iname:``, each before a name or
a pattern of names with ``*`` and ``?``, joined by ``and``, ``or``, ``not`` and parentheses.  A name
or pattern alone is one of ids.
"""

# ruff: noqa: D102  (each method is named like the rule of query.lark that it is for)

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias, cast

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
from polygen.ir.empty import NO_NAMES
from polygen.language.parser import located, parse_with
from polygen.source import caller_location

_Children: TypeAlias = list[Any]
_Query: TypeAlias = Callable[["_Asked"], frozenset[str]]  # the ids of the instructions


class Described(NamedTuple):
    """The names of an instruction that queries match: a field for each kind."""

    id: frozenset[str]  # one
    tag: frozenset[str]
    reads: frozenset[str]
    writes: frozenset[str]
    iname: frozenset[str]


def find(
    text: str,
    instructions: Sequence[Described],
    variables: Collection[str],
    inames: Collection[str],
    who: str,
) -> frozenset[str]:
    """Return the ids of the instructions that a query matches.

    Parameters:
        text: the query.
        instructions: those that may match.
        variables: those that there are.
        inames: those that there are.
        who: has all of these, in words.

    Raises:
        MalformedQuery: if `text` is no query.
        UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if there is no such id,
            iname, variable or tag.
        NothingMatches: if it matches no instruction.
    """
    read = parse_with("queries", text, "query", MalformedQuery, lambda _text, _at: _REMEDY)
    query = cast("_Query", read)
    found = query(_Asked(text, instructions, variables, inames, who))
    if not found:
        raise NothingMatches(
            f"no instruction of {who} matches '{text}'",
            where=caller_location(),
            remedy=f"its instructions: {', '.join(i for d in instructions for i in d.id)}",
        )
    return found


_REMEDY = "write queries such as 'load_*' or 'writes:a and not (iname:j or tag:setup)'"


_KINDS: dict[str, tuple[type[UserError], str]] = {
    "id": (UnknownInstruction, "instruction"),
    "tag": (UnknownName, "instruction with the tag"),
    "reads": (UnknownArgument, "argument or temporary"),
    "writes": (UnknownArgument, "argument or temporary"),
    "iname": (UnknownIname, "iname"),
}


class _Asked(NamedTuple):
    """A query, and what it is asked of: as `find` has it."""

    text: str
    instructions: Sequence[Described]
    variables: Collection[str]
    inames: Collection[str]
    who: str

    @property
    def ids(self) -> frozenset[str]:
        """All instructions."""
        return NO_NAMES.union(*(described.id for described in self.instructions))

    def having(self, kind: str, pattern: str, position: int) -> frozenset[str]:
        """Return the instructions that have a name of some kind.

        Raises:
            UnknownName: if `pattern` is a name of that kind that there is not.
        """
        if "*" not in pattern and "?" not in pattern:
            known = self._known(kind)
            if pattern not in known:
                error, what = _KINDS[kind]
                raise located(
                    error,
                    f"{self.who} has no {what} '{pattern}'",
                    self.text,
                    position,
                    did_you_mean(pattern, known),
                )
        return NO_NAMES.union(
            *(
                described.id
                for described in self.instructions
                if any(fnmatchcase(name, pattern) for name in getattr(described, kind))
            )
        )

    def _known(self, kind: str) -> Collection[str]:
        if kind == "iname":
            return self.inames
        if kind in ("reads", "writes"):
            return self.variables
        return NO_NAMES.union(*(getattr(d, kind) for d in self.instructions))


class Queries:
    """Callbacks for the rules of query.lark."""

    def any_of(self, children: _Children) -> _Query:
        return lambda asked: NO_NAMES.union(*(child(asked) for child in children))

    def all_of(self, children: _Children) -> _Query:
        return lambda asked: asked.ids.intersection(*(child(asked) for child in children))

    def none_of(self, children: _Children) -> _Query:
        return lambda asked: asked.ids - children[0](asked)

    def having(self, children: _Children) -> _Query:
        *kind, name = children
        which = kind[0].value if kind else "id"
        return lambda asked: asked.having(which, name.value, name.start_pos)
