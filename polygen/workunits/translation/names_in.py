"""The names that statements read, in order: which of them have to have a value before."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polygen.python.liveness import stores_of_target


def reads(node: ast.AST | Sequence[ast.AST]) -> set[str]:
    """Return the names that a part of a program reads; what it updates is read, too."""
    nodes = [node] if isinstance(node, ast.AST) else list(node)
    found: set[str] = set()
    for part in [part for one in nodes for part in ast.walk(one)]:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
    return found


def exposed(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements may read before they assign to them."""
    return _exposed(body, set())[0]


def _exposed(body: Sequence[ast.stmt], known: set[str]) -> tuple[set[str], set[str]]:
    found: set[str] = set()
    for node in body:
        more, known = _of_statement(node, known)
        found |= more
    return found, known


def _of_statement(node: ast.stmt, known: set[str]) -> tuple[set[str], set[str]]:
    if isinstance(node, ast.If):
        one, after = _exposed(node.body, known)
        other, after_other = _exposed(node.orelse, known)
        return (reads(node.test) - known) | one | other, after & after_other
    if isinstance(node, ast.For):
        inside, _ = _exposed(node.body, known | stores_of_target(node.target))
        return (reads(node.iter) - known) | inside, known
    if isinstance(node, ast.While):
        inside, _ = _exposed(node.body, known)
        return (reads(node.test) - known) | inside, known
    return reads(node) - known, known | assigned(node)


def assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement by itself assigns to."""
    if isinstance(node, ast.Assign):
        return {name for target in node.targets for name in stores_of_target(target)}
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return stores_of_target(node.target)
    return set()
