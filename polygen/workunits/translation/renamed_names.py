"""Renames the variables of a nested function that is written where it is called."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from polygen.python.liveness import stores


class Renamed(ast.NodeTransformer):
    """Renames variables, and leaves those that nested functions have of their own.

    Parameters:
        names: the new names.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a variable."""
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Rename what a nested function has from outside, and leave its own names."""
        own = {parameter.arg for parameter in node.args.args} | stores(
            without_definitions(node.body)
        )
        own -= {n for part in node.body if isinstance(part, ast.Nonlocal) for n in part.names}
        inside = Renamed({n: new for n, new in self._names.items() if n not in own})
        for part in node.body:
            if isinstance(part, ast.Nonlocal):
                part.names = [self._names.get(name, name) for name in part.names]
        node.body = [inside.visit(part) for part in node.body]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Rename what a lambda has from outside."""
        own = {parameter.arg for parameter in node.args.args}
        inside = Renamed({n: new for n, new in self._names.items() if n not in own})
        node.body = inside.visit(node.body)
        return node


def without_definitions(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that define no function."""
    return [node for node in body if not isinstance(node, ast.FunctionDef)]


def local_names(node: ast.FunctionDef) -> set[str]:
    """Return the names of a function's own: parameters, and variables that it assigns to."""
    outside = {n for part in node.body if isinstance(part, ast.Nonlocal) for n in part.names}
    own = stores(without_definitions(node.body)) | {p.arg for p in node.args.args}
    return own - outside


def free_names(node: ast.FunctionDef) -> set[str]:
    """Return the names that a function reads and does not have of its own."""
    read = {
        part.id
        for statement in node.body
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }
    return read - local_names(node)
