"""A failing function with fewer statements and smaller expressions, as long as it fails."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.jit.random_functions.maker import Function

_SMALL: tuple[ast.expr, ...] = (ast.Constant(1), ast.Constant(0.5), ast.Constant(True))


def shrunk(function: Function, fails: Callable[[Function], bool], most: int = 2000) -> Function:
    """Return a function that still fails, and no longer does when anything more is left out.

    Parameters:
        function: it fails.
        fails: whether a function does; one that is not valid does not.
        most: how many are tried.
    """
    tried = 0
    again = True
    while again:
        again = False
        for text in _smaller(ast.parse(function.text)):
            if len(text) >= len(function.text):
                continue
            tried += 1
            if tried > most:
                return function
            candidate = replace(function, text=text)
            if fails(candidate):
                function, again = candidate, True
                break
    return function


def _smaller(tree: ast.Module) -> Iterator[str]:
    """Yield texts in which a statement or an expression is left out, statements first."""
    yield from _without_statements(tree)
    yield from _with_parts(tree)


def _without_statements(tree: ast.Module) -> Iterator[str]:
    """Yield texts without one statement, or with its body in its place."""
    blocks = [
        (node, getattr(node, field))
        for node in ast.walk(tree)
        for field in ("body", "orelse")
        if not isinstance(node, ast.Module) and isinstance(getattr(node, field, None), list)
    ]
    for node, block in blocks:
        whole = list(block)
        for place, old in reversed(list(enumerate(whole))):
            if isinstance(old, ast.Pass) or _counts(old):
                continue
            for inner in ([], [*getattr(old, "body", []), *getattr(old, "orelse", [])]):
                block[place : place + 1] = inner
                if not block and getattr(node, "orelse", None) is not block:
                    block.append(ast.Pass())
                yield ast.unparse(tree) + "\n"
                block[:] = whole


def _counts(statement: ast.stmt) -> bool:
    """Whether a statement ends a loop sooner or later."""
    return (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id.startswith("w")
    )


def _with_parts(tree: ast.Module) -> Iterator[str]:
    """Yield texts with a part of an expression, or a number, in its place."""
    for old, put in list(_expressions(tree)):
        parts = [part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)]
        for new in (*parts, *(() if isinstance(old, ast.Constant) else _SMALL)):
            put(new)
            yield ast.unparse(tree) + "\n"
        put(old)


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.expr, Callable[[ast.expr], None]]]:
    """Yield expressions that are read, large ones first, with what puts another in the place."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                if isinstance(getattr(value, "ctx", ast.Load()), ast.Load):
                    yield value, partial(setattr, node, field)
            elif isinstance(value, list):
                for place, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        yield one, partial(value.__setitem__, place)
