"""The order in which a kernel prints: Python's, but among iterations of loops claimed parallel.

What prints writes an array that is shared by all: so one comes after the other.  In a loop that is
claimed parallel, any order is right; within an iteration, a scalar keeps it:

    for t in range(T):
        for i in pg.prange(n):      line = 0
            pg.printf(...)          prints; reads and writes line; printed, in any order
            pg.printf(...)          the same
                                    a text that prints nothing, and writes printed: t is in order
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from polygen.ir import expression as ex
from polygen.python.nodes import Assign, For, Node, Nodes, Print, Scalar, When, While


def order_prints(nodes: Nodes, parallel: Collection[str], taken: Collection[str]) -> None:
    """Say of each print among statements in which order it comes.

    Parameters:
        nodes: the statements; they are changed.
        parallel: the loops that are claimed to be parallel.
        taken: names that the kernel has.
    """
    if nodes.printed is not None:
        nodes.body = _Orders(nodes, parallel, taken).block(nodes.body, is_inside=False)


class _Orders:
    def __init__(self, nodes: Nodes, parallel: Collection[str], taken: Collection[str]) -> None:
        self._nodes, self._parallel = nodes, parallel
        self._taken = {*taken, *nodes.scalars, *nodes.storages, *nodes.parameters}

    def block(
        self, body: Sequence[Node], line: str | None = None, *, is_inside: bool
    ) -> list[Node]:
        """Return statements with their prints in order.

        Parameters:
            body: the statements.
            line: the scalar of the innermost loop around that is claimed parallel, nothing if it
                has none; None if there is no such loop.
            is_inside: whether they are in a loop.
        """
        found: list[Node] = []
        for count, node in enumerate(body, 1):
            found.append(node)
            match node:
                case Print():
                    node.is_free, node.line = line is not None, line or ""
                case When():
                    node.body = self.block(node.body, line, is_inside=is_inside)
                    node.otherwise = self.block(node.otherwise, line, is_inside=is_inside)
                case For() if node.iname in self._parallel and _prints(node):
                    node.body = self._free(node)
                    if line is None and (is_inside or count < len(body)):
                        found.append(Print((), node.node))
                case For() | While():
                    node.body = self.block(node.body, line, is_inside=True)
                case _:
                    pass
        return found

    def _free(self, loop: For) -> list[Node]:
        """Return what is in a loop whose iterations print in any order."""
        if self._prints_once(loop.body):
            return self.block(loop.body, "", is_inside=True)
        name, count = "line", 0
        while name in self._taken:
            name, count = f"line_{count}", count + 1
        self._taken.add(name)
        self._nodes.scalars[name] = Scalar(name, np.dtype("int32"), is_own=True)
        begun = Assign(ex.Variable(name), 0, loop.node)
        return [begun, *self.block(loop.body, name, is_inside=True)]

    def _prints_once(self, body: Sequence[Node]) -> bool:
        """Tell whether an iteration prints at most once, or in a loop with any order alone."""
        printing = [node for node in body if _prints(node)]
        if len(printing) != 1:
            return not printing
        (node,) = printing
        if isinstance(node, When):
            return self._prints_once([*node.body, *node.otherwise])
        return isinstance(node, Print) or (isinstance(node, For) and node.iname in self._parallel)


def _prints(node: Node) -> bool:
    if isinstance(node, When):
        return any(map(_prints, (*node.body, *node.otherwise)))
    return (
        any(map(_prints, node.body)) if isinstance(node, For | While) else isinstance(node, Print)
    )
