"""Arguments that a function could be called with, guessed from how it uses its parameters.

What is subscripted is an array, with as many axes as it has subscripts; what is a bound of a loop,
or part of a subscript, is an integer; what else there is, a number.  Nothing is computed with them:
a function is traced, and sizes stay symbols.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polygen.python.function_source import FunctionSource

_EXTENTS = ((24, 25, 26, 27), (24, 24, 24, 24))
_BOUND = 10
_OFFSETS = (3, -3)


def example_arguments(source: FunctionSource, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield values of all parameters, more than once where it may matter.

    Parameters:
        source: the function.
        given: values of some parameters, which are taken as they are.
    """
    uses = _Uses(source.tree)
    for offset in _OFFSETS if uses.offsets - given.keys() else _OFFSETS[:1]:
        for extents in _EXTENTS:
            yield {
                name: given[name] if name in given else uses.example(name, extents, offset)
                for name in _parameters(source.tree)
            }


def _parameters(tree: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]


class _Uses:
    """The uses of parameters in a function.

    Attributes:
        ranks: of those that are subscripted, the number of axes.
        chosen: those whose elements are subscripts.
        bounds: those that bound loops, or slices.
        offsets: other integers: parts of subscripts.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        names = frozenset(_parameters(tree))
        self.ranks: dict[str, int] = {}
        self.chosen = set[str]()
        self.bounds = set[str]()
        self.offsets = set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript):
                self._subscript(node, names)
            elif isinstance(node, ast.Call) and _is_range(node):
                self.bounds |= {n.id for part in node.args for n in _names(part)} & names
            elif isinstance(node, ast.Assign):
                self._unpacked(node)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                for side in (node.left, node.right):
                    if isinstance(side, ast.Name) and side.id in names:
                        self.ranks.setdefault(side.id, 2)
        self.bounds -= self.ranks.keys()
        self.offsets -= self.ranks.keys() | self.bounds

    def _subscript(self, node: ast.Subscript, names: frozenset[str]) -> None:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(node.value, ast.Name):
            count = sum(getattr(part, "value", part) is not None for part in parts)
            self.ranks[node.value.id] = max(self.ranks.get(node.value.id, 1), count)
        elif isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner, axis = node.value.value, getattr(node.slice, "value", None)
            if isinstance(owner, ast.Name) and isinstance(axis, int):
                self.ranks[owner.id] = max(self.ranks.get(owner.id, 1), axis + 1)
            return
        for part in parts:
            inner = set(_subscripted(part))
            self.chosen |= inner
            ends = [part.lower, part.upper] if isinstance(part, ast.Slice) else []
            self.bounds |= {n.id for end in ends if end is not None for n in _names(end)} & names
            if not ends:
                self.offsets |= ({n.id for n in _names(part)} & names) - inner

    def _unpacked(self, node: ast.Assign) -> None:
        """Note the rank of ``n, m = a.shape``."""
        value, target = node.value, node.targets[0]
        is_shape = isinstance(value, ast.Attribute) and value.attr == "shape"
        owner = getattr(value, "value", None)
        if is_shape and isinstance(target, ast.Tuple) and isinstance(owner, ast.Name):
            self.ranks[owner.id] = len(target.elts)

    def example(self, name: str, extents: tuple[int, ...], offset: int) -> Any:
        if name in self.ranks:
            dtype = np.int64 if name in self.chosen else np.float64
            return np.zeros(extents[: self.ranks[name]], dtype)
        if name in self.bounds:
            return _BOUND
        return offset if name in self.offsets else 0.5


_RANGES = frozenset(("range", "prange"))


def _names(node: ast.expr) -> Iterator[ast.Name]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part


def _subscripted(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            yield part.value.id


def _is_range(node: ast.Call) -> bool:
    return getattr(node.func, "id", getattr(node.func, "attr", "")) in _RANGES
