"""Rewrites blocks so that ``continue`` and early ``return`` are branches.

    if c:                if c:
        a                    a
        continue     ->  else:
    b                        b
"""

from __future__ import annotations

import ast
import copy


def structured(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function without ``continue``, where branches can say it."""
    return _block([copy.deepcopy(node) for node in body], in_loop=False)


def _block(body: list[ast.stmt], *, in_loop: bool) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for at, node in enumerate(body):
        if in_loop and isinstance(node, ast.Continue):
            return made or [_passing(node)]
        if isinstance(node, ast.For | ast.While):
            node.body = _block(node.body, in_loop=True)
        if isinstance(node, ast.If):
            rest = body[at + 1 :]
            if _leaves(node.body, in_loop=in_loop) and (rest or node.orelse):
                node.orelse = _block([*node.orelse, *rest], in_loop=in_loop)
                node.body = _block(node.body, in_loop=in_loop)
                return [*made, node]
            if node.orelse and _leaves(node.orelse, in_loop=in_loop) and rest:
                node.body = _block([*node.body, *rest], in_loop=in_loop)
                node.orelse = _block(node.orelse, in_loop=in_loop)
                return [*made, node]
            if rest and (_may_leave(node.body, in_loop) or _may_leave(node.orelse, in_loop)):
                node.body = _block([*node.body, *copy.deepcopy(rest)], in_loop=in_loop)
                node.orelse = _block([*node.orelse, *rest], in_loop=in_loop)
                return [*made, node]
            node.body = _block(node.body, in_loop=in_loop)
            node.orelse = _block(node.orelse, in_loop=in_loop)
        made.append(node)
        if isinstance(node, ast.Break | ast.Return):
            return made
    return made


def _leaves(body: list[ast.stmt], *, in_loop: bool) -> bool:
    """Tell whether statements end with one that leaves the block on every path."""
    kinds = ast.Continue | ast.Break | ast.Return if in_loop else ast.Return
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body, in_loop=in_loop) and _leaves(last.orelse, in_loop=in_loop)
    return isinstance(last, kinds)


def _may_leave(body: list[ast.stmt], in_loop: bool) -> bool:  # noqa: FBT001
    """Tell whether some path through statements ends with ``continue`` or ``return``."""
    for node in body:
        if isinstance(node, ast.Return) or (in_loop and isinstance(node, ast.Continue)):
            return True
        if isinstance(node, ast.If) and (
            _may_leave(node.body, in_loop) or _may_leave(node.orelse, in_loop)
        ):
            return True
    return False


def _passing(node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Pass(), node)
