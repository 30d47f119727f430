"""Callbacks for the grammar's rules of options and blocks."""

# ruff: noqa: D102  (each method is named like the rule of grammar.lark that it is for)

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias

from polygen.errors import did_you_mean
from polygen.ir.expression import Expression
from polygen.language.refused import Refused
from polygen.language.said import Said

# A token is a string with a position; lark is imported only where the parser is built.
_Token: TypeAlias = Any
_Children: TypeAlias = list[Any]

SCOPES = ("local", "global", "any")
_BEFORE = re.compile(
    r"([\w.*?]+)(?:\[\s*((?:\[[^\[\]{}]*\]\s*->\s*)?\{[^{}]*\})\s*\])?"
)  # an id, and which instances


class Option(NamedTuple):
    """``name=value``."""

    name: str  # as it is written
    position: int
    fields: dict[str, Any]  # of `Said`


class Block(NamedTuple):
    """A line that opens or closes a block.

    Attributes:
        word: ``if``, ``elif``, ``else``, ``for``, ``break``, ``with`` or ``end``.
        said: what it says of the instructions inside; of ``else``, nothing yet.
        inames: those that a ``for`` names, in order.
        condition: what follows the ``while`` of a ``for``, or the ``if`` of a ``break``.
    """

    word: str
    said: Said
    inames: tuple[str, ...] = ()
    condition: Expression | None = None


def _names(tokens: _Children) -> frozenset[str]:
    return frozenset(t.value for t in tokens)


def _with_dependencies(said: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return options with the dependencies of a second ``dep=`` besides."""
    both = {name: said[name] + more[name] for name in ("dependencies", "related")}
    return {**said, **both, "exhaustive": said["exhaustive"] or more["exhaustive"]}


class OptionNodes:
    """Builds options and blocks."""

    def option_id(self, children: _Children) -> Option:
        return _option("id", children, id=children[0].value)

    def option_id_prefix(self, children: _Children) -> Option:
        return _option("id_prefix", children, id_prefix=children[0].value)

    def option_dep(self, children: _Children) -> Option:
        text = children[0].value if children else ""
        found = _BEFORE.findall(text.removeprefix("*"))
        return _option(
            "dep",
            children,
            exhaustive=text.startswith("*"),
            dependencies=tuple([pattern for pattern, pairs in found if not pairs]),
            related=tuple([(pattern, pairs) for pattern, pairs in found if pairs]),
        )

    def option_nosync(self, children: _Children) -> Option:
        found: list[tuple[str, str]] = []
        for part in children[0].value.split(":"):
            pattern, _, scope = part.partition("@")
            found.append((pattern, _scope(f"nosync={part}", scope, children[0])))
        return _option("nosync", children, no_sync=tuple(found))

    def option_dep_query(self, children: _Children) -> Option:
        return _option("dep_query", children, dependency_queries=(children[0].strip(),))

    def option_nosync_query(self, children: _Children) -> Option:
        query, *at = children
        scope = at[0].removeprefix("@") if at else ""
        scope = _scope(f"nosync_query={query}@{scope}", scope, query)
        return _option("nosync_query", children, no_sync_queries=((query.strip(), scope),))

    def option_inames(self, children: _Children) -> Option:
        return _option("inames", children, inames=_names(children))

    def option_more_inames(self, children: _Children) -> Option:
        return _option("+inames", children, more_inames=_names(children))

    def option_priority(self, children: _Children) -> Option:
        return _option("priority", children, priority=int("".join(t.value for t in children)))

    def option_tags(self, children: _Children) -> Option:
        return _option("tags", children, tags=_names(children))

    def option_groups(self, children: _Children) -> Option:
        return _option("groups", children, groups=_names(children))

    def option_conflicts(self, children: _Children) -> Option:
        return _option("conflicts", children, conflicts=_names(children))

    def duplicated(self, children: _Children) -> tuple[str, str | None]:
        old, *new = children
        return old.value, new[0].value if new else None

    def option_dup(self, children: _Children) -> Option:
        return Option("dup", 0, {"duplicated": tuple(children)})

    def option_asynchronous(self, _children: _Children) -> Option:
        return Option("asynchronous", 0, {"asynchronous": True})

    def option_mem_kind(self, children: _Children) -> Option:
        (kind,) = children
        if kind.value not in SCOPES[:2]:
            what = f"'{kind}' is no memory that a barrier is for"
            raise Refused(what, kind.start_pos, "write mem_kind=local or mem_kind=global")
        return _option("mem_kind", children, mem_kind=kind.value)

    def option_if(self, children: _Children) -> Option:
        return Option("if", 0, {"predicates": (children[0],)})

    def options(self, children: _Children) -> dict[str, Any]:
        said: dict[str, Any] = {}
        seen: set[str] = set()
        for option in children:
            if option.name == "dep" and option.name in seen:
                said = _with_dependencies(said, option.fields)
                continue
            if option.name in seen and option.name != "if":
                raise Refused(
                    f"there are two options {option.name}=", option.position, "leave one out"
                )
            seen.add(option.name)
            if option.name == "if":
                said["predicates"] = (*said.get("predicates", ()), *option.fields["predicates"])
            else:
                said |= option.fields
        if {"id", "id_prefix"} <= seen:
            raise Refused(
                "an instruction has an id= or an id_prefix=, not both", 0, "leave one out"
            )
        return said

    # --- blocks

    def block_if(self, children: _Children) -> Block:
        return Block("if", Said(predicates=(children[0],)))

    def block_elif(self, children: _Children) -> Block:
        return Block("elif", Said(predicates=(children[0],)))

    def block_else(self, _children: _Children) -> Block:
        return Block("else", Said())

    def block_for(self, children: _Children) -> Block:
        if len(_names(children)) < len(children):
            raise Refused(
                "this 'for' names an iname twice", children[0].start_pos, "name each once"
            )
        said = Said(more_inames=_names(children), is_in_for=True)
        return Block("for", said, tuple([token.value for token in children]))

    def block_while(self, children: _Children) -> Block:
        *tokens, condition = children
        return self.block_for(tokens)._replace(condition=condition)

    def block_break(self, children: _Children) -> Block:
        return Block("break", Said(), condition=children[0] if children else None)

    def block_with(self, children: _Children) -> Block:
        (given,) = children
        if other := sorted(given.keys() - {f.name for f in fields(Said)}):
            what = f"'with' says nothing of what instructions do, as {other[0]} does"
            raise Refused(what, 0, "write it at each instruction")
        said = Said(**given)
        if said.id is not None:
            raise Refused(
                "'with' cannot give one id to all instructions inside",
                0,
                "write id_prefix=, or an id at each instruction",
            )
        return Block("with", said)

    def block_end(self, _children: _Children) -> Block:
        return Block("end", Said())


def _scope(said: str, scope: str, token: _Token) -> str:
    if (scope or "any") not in SCOPES:
        raise Refused(f"{said} names no scope", token.start_pos, did_you_mean(scope, SCOPES))
    return scope or "any"


def _option(name: str, tokens: _Children, **fields: Any) -> Option:
    return Option(name, tokens[0].start_pos if tokens else 0, fields)
