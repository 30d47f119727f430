"""The source of a Python function: its tree, comments, positions, and the names that it sees."""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polygen.errors import NoSource
from polygen.python.pragmas.pragma_data import Pragma
from polygen.source import SourceLocation


@dataclass(frozen=True)
class FunctionSource:
    """A function of Python as text and as a tree.

    Attributes:
        function: the function itself, which runs what is not compiled.
        file: the name of its file.
        tree: the definition; line numbers are those of the file.
        comments: comments by their line.
        indent: how far the text is indented in the file, in characters.
        text: its lines.
        stated: what is said of statements that its text does not have, by line and column.
    """

    function: Callable[..., Any]
    file: str
    tree: ast.FunctionDef
    comments: dict[int, str] = field(repr=False)
    indent: int = 0
    text: str = field(default="", repr=False)
    stated: Mapping[tuple[int, int], tuple[Pragma, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[Pragma, ...]]
    )

    def __deepcopy__(self, _memo: Any) -> FunctionSource:
        """Return itself: trees that mention it are copied."""
        return self

    def place(self, node: ast.AST) -> SourceLocation:
        """Return where a node stands in the user's file."""
        line = getattr(node, "lineno", self.tree.lineno)
        column = getattr(node, "col_offset", None)
        end = getattr(node, "end_col_offset", None)
        if getattr(node, "end_lineno", line) != line:
            end = None
        shift = self.indent
        return SourceLocation(
            self.file,
            line,
            None if column is None else column + shift,
            None if end is None else end + shift,
        )

    def outer_values(self) -> dict[str, Any]:
        """Return the globals and closure variables that the function mentions, as they are now."""
        code, names = self.function.__code__, dict[str, Any]()
        known = self.function.__globals__
        for name in _names_in(code):
            if name in known:
                names[name] = known[name]
        for name, cell in zip(code.co_freevars, self.function.__closure__ or (), strict=True):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        return names


def _names_in(code: Any) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            found |= _names_in(constant)
    return found


def read_function(function: Callable[..., Any], source: str | None = None) -> FunctionSource:
    """Return the source of a function.

    Parameters:
        function: a plain function.
        source: its text, where Python does not keep it.

    Raises:
        NoSource: if the text cannot be had.
    """
    code = function.__code__
    if function.__name__ == "<lambda>":
        raise NoSource(
            "a lambda is part of another statement, and has no lines of its own",
            where=SourceLocation(code.co_filename, code.co_firstlineno),
            remedy="write a function: def f(x): return ...",
        )
    if source is not None:
        first, lines = 1, source.splitlines(keepends=True)
        file = f"<source of {function.__name__}>"
        linecache.cache[file] = (len(source), None, lines, file)
        return _found(function, file, lines, first, by_name=True)
    file = code.co_filename
    try:
        # Not `getsourcelines`, which looks for the module of the code among all that there are.
        all_lines, before = inspect.findsource(function)
        lines, first = inspect.getblock(all_lines[before:]), before + 1
    except (OSError, TypeError, SyntaxError, tokenize.TokenError, IndentationError) as error:
        raise _no_source(function, str(error)) from None
    return _found(function, file, lines, max(first, 1), by_name=False)


def _no_source(function: Callable[..., Any], why: str) -> NoSource:
    return NoSource(
        f"the source of '{function.__name__}' cannot be had: {why}",
        remedy="functions that exec() or 'python -c' make have none: pass pg.jit(source=\"...\"), "
        "or write the function into a file",
    )


def _found(
    function: Callable[..., Any], file: str, lines: list[str], first: int, *, by_name: bool
) -> FunctionSource:
    text = textwrap.dedent("".join(lines))
    full = "".join(lines)
    indent = len(full) - len(full.lstrip(" \t")) if text != full else 0
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise _no_source(
            function, f"its lines are no definition by themselves ({error.msg})"
        ) from None
    if not by_name:
        ast.increment_lineno(module, first - 1)
    definitions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.name == function.__code__.co_name
    ]
    if not definitions:
        raise _no_source(function, "its lines define no function of this name")
    tree = definitions[0]
    comments = _comments(text, 0 if by_name else first - 1)
    return FunctionSource(function, file, tree, comments, indent, text)


def _comments(text: str, shift: int) -> dict[int, str]:
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0] + shift] = token.string
    except (tokenize.TokenError, IndentationError):
        return found
    return found
