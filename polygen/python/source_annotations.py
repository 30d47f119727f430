"""Annotations of loops and updates in a function's source: pragmas, and calls that mean the same.

#pragma parallel for                     for i in pg.prange(n):
for i in range(n):                           ...

#pragma atomic                           pg.atomic_add(s, 0, x[i])
s[0] += x[i]
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polygen.python.annotations import UPDATES, loop_range, prange
from polygen.python.function_source import FunctionSource
from polygen.python.pragmas.pragma_data import AtomicPragma, LoopPragma, Pragma
from polygen.python.pragmas.pragma_places import Position, comments_of, pragmas_of
from polygen.python.statement_origins import origin_of
from polygen.source import SourceLocation


def annotations_of(source: FunctionSource) -> Mapping[Position, tuple[Pragma, ...]]:
    """Return what is said, by the line and column of the statement that it is about, in the tree.

    Raises:
        MalformedPragma, MisplacedPragma: for what is no pragma, or before nothing that it is about.
    """
    first = source.tree.lineno - _line_in_text(source) + 1
    comments = comments_of(source.text, first, source.indent)
    found = {
        place: list(pragmas)
        for place, pragmas in pragmas_of(source.tree, comments, source.file, source.indent).items()
    }
    for place, pragmas in source.stated.items():
        found.setdefault(place, []).extend(pragmas)
    for statement, pragma in _said_by_calls(source):
        found.setdefault((statement.lineno, statement.col_offset), []).append(pragma)
    return {place: tuple(pragmas) for place, pragmas in found.items()}


class Annotations:
    """The annotations of a function, and of the helpers that are inlined into it.

    Parameters:
        source: the function.

    Raises:
        MalformedPragma, MisplacedPragma: as `annotations_of` does.
    """

    def __init__(self, source: FunctionSource) -> None:
        self._own = source
        self._known = {id(source): (source, annotations_of(source))}

    def of(self, source: FunctionSource) -> Mapping[Position, tuple[Pragma, ...]]:
        """Return what is said in the function, or in a helper, by place."""
        if id(source) not in self._known:
            self._known[id(source)] = source, annotations_of(source)
        return self._known[id(source)][1]

    def about(self, statement: ast.stmt) -> tuple[Pragma, ...]:
        """Return what is said about a statement of the function, or of a helper."""
        source = origin_of(statement, self._own)
        return self.of(source).get((statement.lineno, statement.col_offset), ())

    def atomic_places(self, helpers: Iterable[FunctionSource]) -> Iterator[tuple[str, int, int]]:
        """Yield the files, lines and columns of updates that are said to be atomic."""
        for source in (self._own, *helpers):
            for (line, column), pragmas in self.of(source).items():
                if any(isinstance(pragma, AtomicPragma) for pragma in pragmas):
                    yield source.file, line, column + source.indent


def _line_in_text(source: FunctionSource) -> int:
    """Return the line of the definition in the text that was read, which has its decorators."""
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.FunctionDef) and node.name == source.tree.name:
            return node.lineno
    return 1


def _said_by_calls(source: FunctionSource) -> Iterator[tuple[ast.stmt, Pragma]]:
    outer = source.outer_values()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            function = called_function(node.iter.func, outer)
            if function is prange:
                yield node, _stated(source.place(node.iter), {"parallel"})
            elif function is loop_range and (words := _words(node.iter)):
                yield node, _stated(source.place(node.iter), words)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = called_function(node.value.func, outer)
            if any(function is update for update in UPDATES):
                yield node, AtomicPragma(source.place(node))


def called_function(node: ast.expr, outer: Mapping[str, Any]) -> Any:
    """Return the function that a name, or an attribute of a module, stands for; None if unknown."""
    if isinstance(node, ast.Name):
        return outer.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        return getattr(called_function(node.value, outer), node.attr, None)
    return None


def _words(call: ast.Call) -> set[str]:
    """Return what the keywords of a range claim."""
    return {
        keyword.arg
        for keyword in call.keywords
        if keyword.arg and isinstance(keyword.value, ast.Constant) and keyword.value.value
    }


def _stated(where: SourceLocation, words: set[str]) -> LoopPragma:
    return LoopPragma(
        parallel="parallel" in words,
        sequential=False,
        simd="simd" in words,
        auto_simd=False,
        shared=(),
        reductions=(),
        to_device=(),
        from_device=(),
        block=None,
        where=where,
        is_call=True,
    )
