"""Elements of tables of constants: numbers, where it is known which element is meant.

In the copies of a loop's body, ``w[q]*u[i + c[q]]`` is ``w[1]*u[i + c[1]]``, and with the elements
``0.25f*u[i - 1]``.  That is done behind validation: a table is part of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.dtype import is_integer
from polygen.ir.expression import Expression
from polygen.lower.address import simplify
from polygen.lower.program import Block, HostLoop, HostNode, If, Loop, LoopProgram, Node
from polygen.lower.quotients import mapped


def with_table_elements(program: LoopProgram) -> LoopProgram:
    """Return a validated program with numbers for elements of tables at constant places."""
    if not program.tables:
        return program
    elements = _Elements({t.name: t for t in program.tables})
    return replace(program, host=tuple(map(elements.host, program.host)))


class _Elements:
    def __init__(self, tables: Mapping[str, TemporaryVariable]) -> None:
        self._tables = tables

    def host(self, node: HostNode) -> HostNode:
        if isinstance(node, HostLoop):
            return replace(node, body=tuple(map(self.host, node.body)))
        return replace(node, body=self._block(node.body))

    def _block(self, block: Block) -> Block:
        return tuple(map(self._node, block))

    def _node(self, node: Node) -> Node:
        if isinstance(node, Loop):
            if node.at_once:  # lanes
                return node
            lower, upper = self._index(node.lower), self._index(node.upper)
            return replace(node, lower=lower, upper=upper, body=self._block(node.body))
        if isinstance(node, If):
            return replace(node, condition=self._value(node.condition), body=self._block(node.body))
        return mapped(node, self._value)

    def _value(self, node: Expression) -> Expression:
        """Return a value with elements as numbers of the table's type."""
        if self._tables.keys().isdisjoint(walk.free_variables(node)):
            return node
        if not isinstance(node, ex.Subscript):
            return walk.rebuild(node, tuple(map(self._value, walk.parts(node))))
        index = tuple(map(self._index, ex.index_tuple(node)))
        node = ex.Subscript(node.aggregate, index[0] if len(index) == 1 else index)
        element = self._element(node)
        return node if element is None else element

    def _index(self, node: Expression) -> Expression:
        """Return a subscript or a bound, which integers of any type are alike in."""
        if self._tables.keys().isdisjoint(walk.free_variables(node)):
            return node

        def whole(part: Expression) -> Expression:
            element = self._element(part)
            return part if element is None else int(element)

        return simplify(walk.rewrite(node, whole))

    def _element(self, node: Expression) -> Any:
        """Return an element of a table as NumPy's number; None if it is not known, or not plain."""
        table = self._tables.get(ex.name_of(node)) if isinstance(node, ex.Subscript) else None
        if table is None or table.initializer is None or not isinstance(node, ex.Subscript):
            return None
        index = ex.index_tuple(node)
        if len(index) != 1 or type(index[0]) is not int:
            return None
        element = table.initializer.ravel()[index[0]]
        return element if _is_plain(element) else None


def _is_plain(element: Any) -> bool:
    """Tell whether a number equals no other one: -0.0 does, and NaN not even itself."""
    if element.dtype.kind != "f":
        return is_integer(element.dtype)
    return bool(np.isfinite(element)) and not (element == 0 and np.signbit(element))
