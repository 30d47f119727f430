"""Makes an early return from a work unit the end of an iteration of its loop.

if i >= n: return     ->     if i >= n: continue
"""

from __future__ import annotations

import ast

from polygen.python.block_structure import without_returns_in_loops


def without_returns(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a work unit as those of a loop's body.

    Parameters:
        body: the statements, which may be changed.
    """
    return [_continued(node) for node in without_returns_in_loops(body)]


def _continued(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.Return):
        return ast.copy_location(ast.Continue(), node)
    if isinstance(node, ast.If):
        node.body = [_continued(part) for part in node.body]
        node.orelse = [_continued(part) for part in node.orelse]
    return node
