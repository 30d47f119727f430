"""Reads the text of one pragma.

    pragma     = "atomic" | dimension { "," | blank } | loop
    loop       = { "parallel" "for" | "sequential" "for" | "simd" | "auto_simd" | clause }
    clause     = ("shared" | "to" | "from") "(" names ")" | "reduction" "(" operator ":" names ")"
               | "block" [ "(" number ")" ]
    dimension  = [ expression ] ":" expression [ ":" expression ] "=>" property { "," property }
    property   = "parallel" | "simd" | ("reduce" | "reduction") "(" operator [ ":" name ] ")"
               | "le" "(" number ")" | "block" [ "(" number ")" ]

Dimensions are found by their arrows, since Python's expressions may have blanks and commas.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from polygen.errors import MalformedPragma, UnknownClause
from polygen.python.pragmas.pragma_data import (
    AtomicPragma,
    Dimension,
    LoopPragma,
    Named,
    Pragma,
    ReductionClause,
    TensorPragma,
)
from polygen.source import SourceLocation

OPERATIONS: Mapping[str, str] = {
    "+": "sum",
    "sum": "sum",
    "-": "sum",
    "*": "product",
    "prod": "product",
    "product": "product",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "&": "bit_and",
    "|": "bit_or",
    "^": "bit_xor",
    "and": "all",
    "or": "any",
}
_LOOP_WORDS = ("parallel for", "sequential for", "simd", "auto_simd")
_CLAUSES = ("shared", "reduction", "to", "from", "block")
_PROPERTIES = ("parallel", "simd", "reduce", "reduction", "le", "block")

_BLANK = re.compile(r"[\s,]*")
_WORD = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_INTEGER = re.compile(r"[0-9]+\Z")


@dataclass(frozen=True)
class PragmaText:
    """The text of a pragma, with its place.

    Attributes:
        text: what stands behind ``#pragma``.
        file, line, column: where that begins.
        whole: the place of the whole comment.
    """

    text: str
    file: str
    line: int
    column: int
    whole: SourceLocation

    def place(self, start: int, end: int) -> SourceLocation:
        """Return the place of a part of the text."""
        return SourceLocation(self.file, self.line, self.column + start, self.column + end)


def parse_pragma(said: PragmaText) -> Pragma:
    """Return what a pragma says.

    Raises:
        UnknownClause: for a word that no pragma has.
        MalformedPragma: for what is no pragma otherwise.
    """
    text = said.text
    if not text.strip():
        raise MalformedPragma(
            "this pragma says nothing",
            where=said.whole,
            remedy=f"write one of {_listed(_LOOP_WORDS)}, 'atomic', or a slice, ':n=>parallel'",
        )
    if "=>" in text:
        return _tensor(said)
    if text.split()[0] == "atomic":
        return _atomic(said)
    return _loop(said)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _atomic(said: PragmaText) -> AtomicPragma:
    start = said.text.index("atomic") + len("atomic")
    if said.text[start:].strip():
        raise MalformedPragma(
            f"'atomic' stands alone, and this goes on with '{said.text[start:].strip()}'",
            where=said.place(start, len(said.text)),
            remedy="write '#pragma atomic', directly before the update",
        )
    return AtomicPragma(said.whole)


# --- before loops


@dataclass
class _Loop:
    """A pragma before a loop, as far as it has been read."""

    words: dict[str, SourceLocation] = field(default_factory=dict[str, SourceLocation])
    names: dict[str, list[Named]] = field(default_factory=dict[str, list[Named]])
    reductions: list[ReductionClause] = field(default_factory=list[ReductionClause])
    block: int | None = None


def _loop(said: PragmaText) -> LoopPragma:
    found, position = _Loop(), 0
    while (position := _skip(said.text, position)) < len(said.text):
        position = _loop_word(said, position, found)
    if {"parallel for", "sequential for"} <= found.words.keys():
        raise MalformedPragma(
            "a loop is 'parallel for' or 'sequential for', not both",
            where=found.words["sequential for"],
            remedy="leave one of them out",
        )
    if not found.words:
        raise MalformedPragma(
            "this pragma has clauses, but does not say how its loop is to run",
            where=said.whole,
            remedy="begin with 'parallel for', 'sequential for' or 'simd'",
        )
    names = {clause: tuple(found.names.get(clause, ())) for clause in ("shared", "to", "from")}
    return LoopPragma(
        parallel="parallel for" in found.words,
        sequential="sequential for" in found.words,
        simd="simd" in found.words,
        auto_simd="auto_simd" in found.words,
        shared=names["shared"],
        reductions=tuple(found.reductions),
        to_device=names["to"],
        from_device=names["from"],
        block=found.block,
        where=said.whole,
    )


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _loop_word(said: PragmaText, start: int, found: _Loop) -> int:
    """Read a word or a clause, and return where it ends."""
    word, end = _word(said, start)
    if word in {"parallel", "sequential"}:
        second = _WORD.match(said.text, _skip(said.text, end))
        if second is None or second.group() != "for":
            raise MalformedPragma(
                f"'{word}' before a loop goes on with 'for'",
                where=said.place(start, end),
                remedy=f"write '#pragma {word} for'",
            )
        found.words[f"{word} for"] = said.place(start, second.end())
        return second.end()
    if word in {"simd", "auto_simd"}:
        found.words[word] = said.place(start, end)
        return end
    if word not in _CLAUSES:
        raise UnknownClause(
            f"no pragma before a loop has '{word}'",
            where=said.place(start, end),
            remedy=f"there are {_listed((*_LOOP_WORDS, *_CLAUSES))}; 'atomic' stands alone",
        )
    inner = _parentheses(said, end)
    if inner is None:
        if word == "block":
            return end
        raise MalformedPragma(
            f"'{word}' is without what it is about",
            where=said.place(start, end),
            remedy=f"write {word}(+: s)" if word == "reduction" else f"write {word}(x)",
        )
    first, last = inner
    if word == "block":
        found.block = _number(said, word, first, last)
    elif word == "reduction":
        found.reductions.append(_reduction(said, start, first, last))
    else:
        found.names.setdefault(word, []).extend(_names(said, word, first, last))
    return last + 1


def _word(said: PragmaText, start: int) -> tuple[str, int]:
    found = _WORD.match(said.text, start)
    if found is None:
        raise MalformedPragma(
            f"'{said.text[start:].split()[0]}' cannot stand here",
            where=said.place(start, start + 1),
            remedy="clauses are words, some with parentheses: 'parallel for simd shared(x)'; "
            "slices of array statements go on with an arrow: ':n=>parallel'",
        )
    return found.group(), found.end()


def _parentheses(said: PragmaText, end: int) -> tuple[int, int] | None:
    """Return where what is in the parentheses behind a word begins and ends."""
    start = end + len(said.text[end:]) - len(said.text[end:].lstrip())
    if start >= len(said.text) or said.text[start] != "(":
        return None
    close = said.text.find(")", start)
    if close < 0:
        raise MalformedPragma(
            "a parenthesis is not closed", where=said.place(start, start + 1), remedy="close it"
        )
    return start + 1, close


def _number(said: PragmaText, word: str, first: int, last: int) -> int:
    text = said.text[first:last].strip()
    if not _INTEGER.match(text) or int(text) < 1:
        raise MalformedPragma(
            f"'{word}' has a positive number, and '{text}' is none",
            where=said.place(first, last),
            remedy=f"write {word}(64); what is not a number is known at a call only",
        )
    return int(text)


def _names(said: PragmaText, word: str, first: int, last: int) -> list[Named]:
    found: list[Named] = []
    for part in said.text[first:last].split(","):
        name = part.strip()
        start = first + part.index(name)
        if not _NAME.match(name):
            raise MalformedPragma(
                f"'{word}' has names, and '{name}' is none",
                where=said.place(start, max(start + len(name), start + 1)),
                remedy=f"write {word}(x, y)",
            )
        found.append(Named(name, said.place(start, start + len(name))))
        first += len(part) + 1
    return found


def _reduction(said: PragmaText, start: int, first: int, last: int) -> ReductionClause:
    operator, colon, _ = said.text[first:last].partition(":")
    if not colon:
        raise MalformedPragma(
            f"'reduction({said.text[first:last]})' does not say both operator and variables",
            where=said.place(start, last + 1),
            remedy="write reduction(+: s)",
        )
    operation = _operation(said, operator, first)
    names = _names(said, "reduction", first + len(operator) + 1, last)
    return ReductionClause(operation, tuple(names), said.place(start, last + 1))


def _operation(said: PragmaText, operator: str, first: int) -> str:
    known = OPERATIONS.get(operator.strip())
    if known is None:
        raise UnknownClause(
            f"'{operator.strip()}' is no operation of reductions",
            where=said.place(first, first + max(1, len(operator))),
            remedy=f"there are {_listed(tuple(OPERATIONS))}",
        )
    return known


# --- before array statements


def _tensor(said: PragmaText) -> TensorPragma:
    dimensions: list[Dimension] = []
    position = 0
    while (position := _skip(said.text, position)) < len(said.text):
        dimension, position = _dimension(said, position)
        if any(_bounds(other) == _bounds(dimension) for other in dimensions):
            raise MalformedPragma(
                f"the slice '{dimension.slice}' stands here twice",
                where=dimension.where,
                remedy="say all of one slice once: ':n=>parallel,simd'; two axes of one extent "
                "have names of their own",
            )
        dimensions.append(dimension)
    return TensorPragma(tuple(dimensions), said.whole)


def _bounds(dimension: Dimension) -> tuple[str, str, str]:
    return dimension.lower, dimension.upper, dimension.step


def _dimension(said: PragmaText, start: int) -> tuple[Dimension, int]:
    arrow = said.text.find("=>", start)
    if arrow < 0:
        rest = said.text[start:].strip()
        raise MalformedPragma(
            f"'{rest}' is a slice without properties, or an unknown property",
            where=said.place(start, len(said.text.rstrip())),
            remedy=f"write ':n=>parallel'; there are the properties {_listed(_PROPERTIES)}",
        )
    text = said.text[start:arrow].strip()
    place = said.place(start, start + len(text))
    lower, upper, step = _slice(text, place)
    properties, end = _Properties(), arrow + 2
    while True:
        end = _property(said, end, properties)
        following = re.match(r"\s*,\s*", said.text[end:])
        if following is None or not _is_property(said.text[end + following.end() :]):
            break
        end += following.end()
    found = Dimension(
        text,
        lower,
        upper,
        step,
        properties.parallel,
        properties.simd,
        properties.reduction,
        properties.target,
        properties.at_most,
        properties.block,
        said.place(start, end),
    )
    return found, end


@dataclass
class _Properties:
    """The properties of a slice, as far as they have been read."""

    parallel: bool = False
    simd: bool = False
    reduction: str | None = None
    target: Named | None = None
    at_most: int | None = None
    block: int | None = None


def _is_property(text: str) -> bool:
    """Tell whether what follows a comma is a property, and not the next slice."""
    found = re.match(r"([^\W\d]\w*)\s*(\([^()]*\))?\s*(,|$|\s(?![-+*/%.])(?P<slice>:?))", text)
    return found is not None and (not found["slice"] or found[1] in _PROPERTIES)


def _slice(text: str, where: SourceLocation) -> tuple[str, str, str]:
    """Return the parts of a slice in a normal form."""
    try:
        found = ast.parse(f"_[{text}]", mode="eval").body
    except SyntaxError:
        found = None
    part = found.slice if isinstance(found, ast.Subscript) else None
    if not isinstance(part, ast.Slice):
        raise MalformedPragma(
            f"'{text}' is no slice of Python's",
            where=where,
            remedy="write the slice as the statement has it: ':n=>parallel' or '1:n-1=>simd'",
        )
    if part.upper is None:
        raise MalformedPragma(
            f"the slice '{text}' has no end",
            where=where,
            remedy="name it, here and in the statement: ':n', with n = a.shape[0]; axes are told "
            "apart by their ends",
        )
    return (
        "0" if part.lower is None else ast.unparse(part.lower),
        ast.unparse(part.upper),
        "1" if part.step is None else ast.unparse(part.step),
    )


def _property(said: PragmaText, start: int, found: _Properties) -> int:
    """Read a property, and return where it ends."""
    start = start + len(said.text[start:]) - len(said.text[start:].lstrip())
    word = _WORD.match(said.text, start)
    if word is None:
        raise MalformedPragma(
            "no property stands behind the arrow",
            where=said.place(max(start - 2, 0), start),
            remedy=f"there are {_listed(_PROPERTIES)}",
        )
    name, end = word.group(), word.end()
    if name not in _PROPERTIES:
        raise UnknownClause(
            f"slices have no property '{name}'",
            where=said.place(start, end),
            remedy=f"there are {_listed(_PROPERTIES)}",
        )
    if name in {"parallel", "simd"}:
        setattr(found, name, True)
        return end
    inner = _parentheses(said, end)
    if inner is None:
        if name == "block":
            return end
        raise MalformedPragma(
            f"'{name}' is without what it is about",
            where=said.place(start, end),
            remedy="write le(16)" if name == "le" else f"write {name}(sum: y)",
        )
    first, last = inner
    if name in {"le", "block"}:
        value = _number(said, name, first, last)
        setattr(found, "at_most" if name == "le" else "block", value)
        return last + 1
    operator, colon, _ = said.text[first:last].partition(":")
    found.reduction = _operation(said, operator, first)
    if colon:
        found.target = _names(said, name, first + len(operator) + 1, last)[0]
    return last + 1
