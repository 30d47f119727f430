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
    copies = [copy.deepcopy(node) for node in body]
    numbers = _Numbers()
    plain = _without_else(copies, numbers)
    return _block(_without_returns_in_loops(plain, numbers), in_loop=False)


def without_returns_in_loops(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements in which no loop has a ``return``: a ``break``, and one after the loop.

    Parameters:
        body: the statements of a function, which may be changed.
    """
    return _without_returns_in_loops(body, _Numbers())


class _Numbers:
    """Numbers for names that the user's program does not have."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


def _without_returns_in_loops(body: list[ast.stmt], numbers: _Numbers) -> list[ast.stmt]:
    """Return statements in which a ``return`` in a loop is a ``break``, and one after the loop.

    for ...:              ?left = False
        if c:             for ...:
            return x  ->      if c:
                                  ?value = x; ?left = True; break
                          if ?left: return ?value
    """
    made: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            node.body = _without_returns_in_loops(node.body, numbers)
            node.orelse = _without_returns_in_loops(node.orelse, numbers)
        if isinstance(node, ast.For | ast.While) and _returns(node):
            node.body = _without_returns_in_loops(node.body, numbers)
            number = numbers.next()
            left, value = f"?left{number}", _value_names(node, f"?value{number}")
            node.body = _leaving(node.body, left, value)
            made += [_gives(left, ast.Constant(value=False), node), node]
            test = ast.copy_location(ast.Name(left, ast.Load()), node)
            back = ast.copy_location(ast.Return(_loaded(value, node)), node)
            made.append(ast.copy_location(ast.If(test, [back], []), node))
            continue
        made.append(node)
    return made


def _without_else(body: list[ast.stmt], numbers: _Numbers) -> list[ast.stmt]:
    """Return statements in which no loop has an ``else``.

    for ...:              ?broken = False
        if c: break       for ...:
    else:             ->      if c:
        b                         ?broken = True; break
                          if not ?broken: b
    """
    made: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.While):
            node.body = _without_else(node.body, numbers)
            node.orelse = _without_else(node.orelse, numbers)
        if not isinstance(node, ast.For | ast.While) or not node.orelse:
            made.append(node)
            continue
        name, otherwise = f"?broken{numbers.next()}", node.orelse
        node.orelse = []
        node.body = _broken(node.body, name)
        made += [_gives(name, ast.Constant(value=False), node), node]
        test = ast.copy_location(ast.UnaryOp(ast.Not(), _name(name, node)), node)
        made.append(ast.copy_location(ast.If(test, otherwise, []), node))
    return made


def _broken(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Return the statements of a loop that say so as they leave it."""
    made: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            node.body = _broken(node.body, name)
            node.orelse = _broken(node.orelse, name)
        if isinstance(node, ast.Break):
            made.append(_gives(name, ast.Constant(value=True), node))
        made.append(node)
    return made


def _returns(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _value_names(loop: ast.stmt, like: str) -> tuple[str, ...]:
    """Return names for what is returned in a loop: one, or one for each part of a tuple."""
    values = [part.value for part in ast.walk(loop) if isinstance(part, ast.Return)]
    counts = {len(v.elts) if isinstance(v, ast.Tuple) else 0 for v in values}
    (count,) = counts if len(counts) == 1 else (0,)
    return tuple([f"{like}_{at}" for at in range(count)]) or (like,)


def _loaded(names: tuple[str, ...], node: ast.stmt) -> ast.expr:
    found = [_name(name, node) for name in names]
    if len(found) == 1:
        return found[0]
    return ast.copy_location(ast.Tuple(found, ast.Load()), node)


def _leaving(body: list[ast.stmt], left: str, value: tuple[str, ...]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            node.body = _leaving(node.body, left, value)
            node.orelse = _leaving(node.orelse, left, value)
        if isinstance(node, ast.Return):
            given = node.value or ast.copy_location(ast.Constant(None), node)
            parts = given.elts if isinstance(given, ast.Tuple) and len(value) > 1 else [given]
            made += [
                *[_gives(name, part, node) for name, part in zip(value, parts, strict=True)],
                _gives(left, ast.Constant(value=True), node),
                ast.copy_location(ast.Break(), node),
            ]
            return made
        made.append(node)
    return made


def _gives(name: str, value: ast.expr, node: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), node)
    if not hasattr(value, "lineno"):
        ast.copy_location(value, node)
    return ast.copy_location(ast.Assign([target], value), node)


def _name(name: str, node: ast.stmt) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), node)


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


def _may_leave(body: list[ast.stmt], in_loop: bool) -> bool:
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
