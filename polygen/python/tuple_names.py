"""Rewrites names of tuples that branches or loops assign: as a name for each part.

best = (0, 0)                best.0, best.1 = 0, 0
for i in range(n):           for i in range(n):
    if x[i] > m:        ->       if x[i] > m:
        best = (i, j)                best.0, best.1 = i, j
return best                  return best.0, best.1
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast


def without_tuple_names(
    body: Sequence[ast.stmt], given: Mapping[str, Any], wanted: Collection[str]
) -> list[ast.stmt]:
    """Return statements in which no loop or branch assigns a tuple to a name.

    Parameters:
        body: statements; they are not changed.
        given: the values of names before them.
        wanted: the names that are read after them.
    """
    lengths = _lengths(body, given)
    if not lengths:
        return list(body)
    rewriter = _Rewriter(lengths)
    made = [cast("ast.stmt", rewriter.visit(copy.deepcopy(node))) for node in body]
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for name, length in lengths.items():
        if name in given:
            target = _parts(name, length, ast.Store(), body[0])
            before.append(_assign(target, ast.Name(name, ast.Load()), body[0]))
        if name in wanted:
            value = _parts(name, length, ast.Load(), body[-1])
            after.append(_assign(ast.Name(name, ast.Store()), value, body[-1]))
    return [*before, *made, *after]


def _lengths(body: Sequence[ast.stmt], given: Mapping[str, Any]) -> dict[str, int]:
    """Return the names that stand for tuples alone, and how many parts these have."""
    found: dict[str, set[int]] = {}
    plain: set[int] = set()
    for node in (part for statement in body for part in ast.walk(statement)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,), value = node.targets, node.value
            is_tuple = isinstance(value, ast.Tuple) and value.elts
            if isinstance(target, ast.Name) and is_tuple and isinstance(value, ast.Tuple):
                found.setdefault(target.id, set()).add(len(value.elts))
                plain.add(id(target))
    others = {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
        and not isinstance(node.ctx, ast.Load)
        and id(node) not in plain
    }
    within = _assigned_within(body)
    return {
        name: min(lengths)
        for name, lengths in sorted(found.items())
        if len(lengths) == 1
        and name in within - others
        and (name not in given or _is_tuple_of(given[name], min(lengths)))
    }


def _is_tuple_of(value: Any, length: int) -> bool:
    parts: Any = value
    return type(value) is tuple and len(parts) == length


def _assigned_within(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that are assigned in loops and branches."""
    return {
        node.id
        for statement in body
        if isinstance(statement, ast.For | ast.While | ast.If)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


class _Rewriter(ast.NodeTransformer):
    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._lengths:
            return node
        return _parts(node.id, self._lengths[node.id], node.ctx, node)


def _parts(name: str, length: int, context: ast.expr_context, place: ast.AST) -> ast.expr:
    kind = type(context)
    parts: list[ast.expr] = [
        _placed(ast.Name(f"{name}.{at}", kind()), place) for at in range(length)
    ]
    return _placed(ast.Tuple(parts, kind()), place)


def _placed(node: ast.expr, place: ast.AST) -> ast.expr:
    return ast.copy_location(node, place)


def _assign(target: ast.expr, value: ast.expr, place: ast.stmt) -> ast.stmt:
    made = ast.copy_location(ast.Assign([target], value), place)
    for node in ast.walk(made):
        if isinstance(node, ast.expr) and not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return made
