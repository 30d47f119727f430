"""Finds the arguments that a function of loops reads and writes, by its text.

What is not certain counts as both: an argument under another name, or passed to a helper.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_FACTS = frozenset({"shape", "ndim", "dtype", "size", "extent", "rank"})


def effects_of(
    body: Sequence[ast.stmt], ranks: Mapping[str, int]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parameters that statements may read elements of, and those they may write.

    Parameters:
        body: the statements.
        ranks: the numbers of subscripts of arrays, by parameter.
    """
    walker = _Walker(ranks)
    for node in body:
        walker.visit(node)
    return frozenset(walker.read), frozenset(walker.written)


class _Walker(ast.NodeVisitor):
    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._names = ranks
        self.read: set[str] = set()
        self.written: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Subscript):
            self.visit(root.slice)
            root = root.value
        if not isinstance(root, ast.Name) or root.id not in self._names:
            self.visit(root)
            return
        found = self.read if isinstance(node.ctx, ast.Load) else self.written
        found.add(root.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.attr in _FACTS:
            return
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        root: ast.expr = node.target
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._names:
            self.read.add(root.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._visit_aliased(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._visit_aliased(node.value)
        self.visit(node.target)

    def _visit_aliased(self, value: ast.expr) -> None:
        """Look at a value that gets a name: a part of an argument may be written under it."""
        self.visit(value)
        for part in _parts(value):
            root: ast.expr = part
            subscripts = 0
            while isinstance(root, ast.Subscript | ast.Attribute):
                if isinstance(root, ast.Subscript):
                    subscripts += _integers(root.slice)
                root = root.value
            if not isinstance(root, ast.Name) or root.id not in self._names or _is_fact(part):
                continue
            if subscripts < self._names[root.id]:
                self.written.add(root.id)

    def visit_Name(self, node: ast.Name) -> None:
        """A bare name: the array itself is passed to something, or gets another name."""
        if node.id in self._names:
            self.read.add(node.id)
            self.written.add(node.id)


def _parts(value: ast.expr) -> Sequence[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple | ast.List) else [value]


def _is_fact(node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr in _FACTS


def _integers(key: ast.expr) -> int:
    """Return how many subscripts of an array a key fixes."""
    parts = key.elts if isinstance(key, ast.Tuple) else [key]
    return sum(not isinstance(part, ast.Slice) for part in parts)
