"""Small trees of Python, at the place of another one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

_N = TypeVar("_N", bound=ast.AST)


def placed(made: _N, like: ast.AST) -> _N:
    """Return a tree whose parts without a place are at that of another one."""
    for part in ast.walk(made):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, like)
    return made


def load(name: str, like: ast.AST) -> ast.Name:
    """Return a name that is read."""
    return placed(ast.Name(name, ast.Load()), like)


def assign(name: str, value: ast.expr, like: ast.AST) -> ast.stmt:
    """Return ``name = value``."""
    return placed(ast.Assign([ast.Name(name, ast.Store())], value), like)


def loop(
    name: str, lower: ast.expr, upper: ast.expr, body: Sequence[ast.stmt], like: ast.AST
) -> ast.For:
    """Return ``for name in range(lower, upper): body``."""
    bounds = [upper] if _is_zero(lower) else [lower, upper]
    run_over = ast.Call(ast.Name("range", ast.Load()), bounds, [])
    inside = list(body) or [ast.Pass()]
    return placed(ast.For(ast.Name(name, ast.Store()), run_over, inside, [], None), like)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
