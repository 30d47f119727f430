"""The names that a function of Python reads after a statement: found from the last one backward.

for i in range(n):     # s is carried: read at the head of an iteration
    t = x[i]           # t is not: each iteration assigns it before it reads it
    s += t*t
return s               # s is live after the loop
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass
class Liveness:
    """The names that are live, by statement.

    Attributes:
        after: for each statement with a block: names that are read after it.
        carried: for each loop: names that are read at the head of an iteration or later, before
            they are assigned.
    """

    after: dict[ast.stmt, frozenset[str]] = field(default_factory=dict[ast.stmt, frozenset[str]])
    carried: dict[ast.stmt, frozenset[str]] = field(default_factory=dict[ast.stmt, frozenset[str]])


def loads(node: ast.AST) -> set[str]:
    """Return the names that are read in a tree."""
    found = set[str]()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
    return found


def stores(nodes: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign."""
    return {
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def rebound(nodes: list[ast.stmt]) -> set[str]:
    """Return the names that statements give new values: ``x += y`` updates an array instead."""
    updated = {
        id(part.target)
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.AugAssign)
    }
    return {
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
        and isinstance(part.ctx, ast.Store)
        and id(part) not in updated
    }


def liveness(body: list[ast.stmt], out: frozenset[str] = frozenset()) -> Liveness:
    """Return what is live in a block of statements, after which `out` is read."""
    found = _Walk()
    found.block(body, out, frozenset(), frozenset())
    return found.result


class _Walk:
    def __init__(self) -> None:
        self.result = Liveness()

    def block(
        self,
        body: list[ast.stmt],
        live: frozenset[str],
        at_break: frozenset[str],
        at_continue: frozenset[str],
    ) -> frozenset[str]:
        for node in reversed(body):
            live = self.statement(node, live, at_break, at_continue)
        return live

    def statement(
        self,
        node: ast.stmt,
        live: frozenset[str],
        at_break: frozenset[str],
        at_continue: frozenset[str],
    ) -> frozenset[str]:
        self.result.after[node] = live
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, live)
        if isinstance(node, ast.If):
            one = self.block(node.body, live, at_break, at_continue)
            other = self.block(node.orelse, live, at_break, at_continue)
            return one | other | loads(node.test)
        if isinstance(node, ast.Break):
            return at_break
        if isinstance(node, ast.Continue):
            return at_continue
        if isinstance(node, ast.Return):
            return frozenset(loads(node))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return (live - _assigned(node)) | loads(node)
        return live | loads(node)

    def _loop(self, node: ast.For | ast.While, live: frozenset[str]) -> frozenset[str]:
        is_for = isinstance(node, ast.For)
        asked = loads(node.iter) if isinstance(node, ast.For) else loads(node.test)
        bound = stores_of_target(node.target) if isinstance(node, ast.For) else set[str]()
        live = self.block(node.orelse, live, frozenset(), frozenset())
        head: frozenset[str] = frozenset() if is_for else frozenset(asked)
        while True:
            around = live | head
            inner = self.block(node.body, around, live, around) - bound
            new = head | inner
            if new == head:
                break
            head = new
        self.result.carried[node] = head
        return live | head | asked


def stores_of_target(target: ast.expr) -> set[str]:
    """Return the names that an assignment to a target binds."""
    return {
        n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return set[str]().union(*map(stores_of_target, targets))
