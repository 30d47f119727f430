"""Finds the pragmas of a function, and the statement that each is about.

#pragma parallel for          about the loop
for i in range(n):
    #pragma atomic            about the update
    s[0] += x[i]
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from polygen.errors import MisplacedPragma
from polygen.python.pragmas.pragma_data import AtomicPragma, LoopPragma, Pragma, TensorPragma
from polygen.python.pragmas.pragma_text import PragmaText, parse_pragma
from polygen.source import SourceLocation

# '# pragma: no cover' and its like are other programs'.
_HEAD = re.compile(r"#\s*pragma\b(?!:\s)(?!\s*:\s*no\s)")


Position: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Comment:
    """A comment.

    Attributes:
        line: its line in the file.
        column: where in the line it begins.
        text: what it says, from the ``#`` on.
        is_alone: whether nothing else stands in its line.
    """

    line: int
    column: int
    text: str
    is_alone: bool = True


def comments_of(text: str, first: int = 1, indent: int = 0) -> tuple[Comment, ...]:
    """Return the comments of a text; what stands in strings is none.

    Parameters:
        text: a piece of Python.
        first: the line of the file in which it begins.
        indent: how far it was indented there.
    """
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tuple(
        [
            Comment(
                token.start[0] + first - 1,
                token.start[1] + indent,
                token.string,
                not token.line[: token.start[1]].strip(),
            )
            for token in tokens
            if token.type == tokenize.COMMENT
        ]
    )


def pragmas_of(
    tree: ast.AST, comments: Iterable[Comment], file: str, indent: int = 0
) -> Mapping[Position, tuple[Pragma, ...]]:
    """Return the pragmas of a function, or of a module, by the place of the statement of each.

    That is the statement in whose line a pragma stands, or the next one, if it is in the same
    block; its place is the line and column that the tree has.

    Parameters:
        tree: the definition; line numbers are those of the file.
        comments: the comments in it.
        file: the name of the file.
        indent: how far the definition is indented, in characters.

    Raises:
        UnknownClause, MalformedPragma: for what is no pragma.
        MisplacedPragma: for one before nothing, before a statement of another kind, beside one of
            the same kind, or about a name that the function does not have.
    """
    statements = sorted(_statements(tree), key=lambda s: (s.lineno, s.col_offset))
    names = _names(tree)
    found: dict[Position, list[Pragma]] = {}
    for comment in comments:
        head = _HEAD.match(comment.text)
        if head is None:
            continue
        said = _said(comment, head.end(), file)
        pragma = parse_pragma(said)
        statement = _next(statements, comment, indent)
        if statement is None:
            raise MisplacedPragma(
                f"no statement follows the pragma '{said.text.strip()}' in its block",
                where=said.whole,
                remedy="write it in the line before the statement that it is about, indented alike",
            )
        _check(pragma, statement, said)
        _check_names(pragma, names)
        others = found.setdefault((statement.lineno, statement.col_offset), [])
        _check_single(pragma, others)
        others.append(pragma)
    return {place: tuple(pragmas) for place, pragmas in found.items()}


def _said(comment: Comment, end: int, file: str) -> PragmaText:
    last = comment.column + len(comment.text.rstrip())
    whole = SourceLocation(file, comment.line, comment.column, last)
    return PragmaText(comment.text.rstrip()[end:], file, comment.line, comment.column + end, whole)


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node is not tree:
            yield node


def _next(statements: Sequence[ast.stmt], comment: Comment, indent: int) -> ast.stmt | None:
    """Return the statement in the line of a comment, or the next one of the same block."""
    if not comment.is_alone:
        return next((s for s in reversed(statements) if s.lineno <= comment.line), None)
    following = next((s for s in statements if s.lineno > comment.line), None)
    if following is None or following.col_offset + indent < comment.column:
        return None
    return following


# The statements that a pragma may be about, what others are, and what to do.
_WANTED: Mapping[type[Pragma], tuple[tuple[type[ast.stmt], ...], str, str]] = {
    LoopPragma: (
        (ast.For,),
        "no 'for' loop",
        "write it directly before a 'for' over 'range' or 'pg.prange'",
    ),
    AtomicPragma: (
        (ast.AugAssign, ast.Assign),
        "no update",
        "write it directly before the update",
    ),
    TensorPragma: (
        (ast.Assign, ast.AugAssign, ast.AnnAssign),
        "no assignment",
        "write it directly before the assignment whose slices it names",
    ),
}


def _check(pragma: Pragma, statement: ast.stmt, said: PragmaText) -> None:
    """Refuse a pragma before a statement of another kind."""
    wanted, what, remedy = _WANTED[type(pragma)]
    if not isinstance(statement, wanted):
        shown = ast.unparse(statement).splitlines()[0]
        raise MisplacedPragma(
            f"the pragma '{said.text.strip()}' stands before '{shown}', which is {what}",
            where=said.whole,
            remedy=remedy,
        )


def _names(tree: ast.AST) -> frozenset[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return frozenset(found)


def _check_names(pragma: Pragma, names: frozenset[str]) -> None:
    """Refuse a clause about a name that nothing in the function has."""
    if isinstance(pragma, LoopPragma):
        mentioned = list(pragma.names())
    elif isinstance(pragma, TensorPragma):
        mentioned = [d.target for d in pragma.dimensions if d.target is not None]
    else:
        mentioned = []
    for named in mentioned:
        if named.name.partition(".")[0] not in names:
            close = get_close_matches(named.name, names, 1)
            raise MisplacedPragma(
                f"the function has no '{named.name}', which a clause is about",
                where=named.where,
                remedy=f"is '{close[0]}' meant?" if close else "name a variable of the function",
            )


def _check_single(pragma: Pragma, others: Sequence[Pragma]) -> None:
    if any(type(other) is type(pragma) for other in others):
        raise MisplacedPragma(
            "a statement has two pragmas of one kind",
            where=pragma.where,
            remedy="say all in one: '#pragma parallel for simd'",
        )
