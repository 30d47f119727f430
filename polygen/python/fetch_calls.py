"""The functions in `polygen.python.atomic_fetches`, as kernels have them.

k = pg.atomic_fetch_add(count, 0, 1)    in a loop that is claimed parallel:
                                            old = fetch_add(count[0], 1)  {atomic=any_order}
                                        else:
                                            old = count[0]
                                            count[0] = old + 1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.atomic_fetches import OPERATIONS, atomic_compare_exchange, atomic_exchange
from polygen.python.names.basic_table import TABLE
from polygen.python.nodes import Assign, Fetch, For, InOrder, Node, Nodes, Scalar, When, While
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused
from polygen.python.subscripts import subscripted
from polygen.python.values import Number, Several, Value, View, literal

_New = Callable[[Any, Number, Sequence[Value]], Expression]


def _row(name: str, new: _New, operands: int) -> Callable[..., Value]:
    def fetched(trace: Any, array: Value, index: Value, values: Sequence[Value]) -> Value:
        if trace.asked:
            raise Refused(f"pg.{name} is called in an expression", "write 'if' around it")
        old = _element(trace, array, index)
        assert old.tree is not None
        tree = new(trace, old, values)
        assert isinstance(array, View)
        array.base.is_written = True
        kept = trace.scalar("old", old.dtype)
        trace.emit(Fetch(kept, old.tree, tree, trace.node))
        affine = None
        if old.dtype.kind in "iu":
            affine = Affine.of(kept)
            trace.facts.ranges[kept] = (number(0) if old.dtype.kind == "u" else None, None)
        return Number(old.dtype, tree=ex.Variable(kept), affine=affine)

    def one(trace: Any, array: Value, index: Value, value: Value) -> Value:
        return fetched(trace, array, index, (value,))

    def two(trace: Any, array: Value, index: Value, expected: Value, value: Value) -> Value:
        return fetched(trace, array, index, (expected, value))

    return one if operands == 1 else two


def _element(trace: Any, array: Value, index: Value) -> Number:
    """Return the element that is updated."""
    if not isinstance(array, View) or array.is_gather or array.part is not None:
        raise Refused("an atomic update of what is no array in memory", "pass it as an argument")
    keys = index.parts if isinstance(index, Several) else (index,)
    trace.check_own(array)
    if not all(isinstance(key, Number) for key in keys):
        raise Refused("an atomic update of several elements at once", "write a loop over them")
    old = subscripted(trace, array, keys)
    if not isinstance(old, Number) or not isinstance(old.tree, ex.Subscript):
        raise Refused("an atomic update of more than one element", "write a loop over them")
    return old


def _combined(sign: str) -> _New:
    def new(trace: Any, old: Number, values: Sequence[Value]) -> Expression:
        (value,) = values
        if not isinstance(value, Number):
            raise Refused("an atomic update by what is no number", "write a loop over elements")
        if sign in ("min", "max"):
            found: Value = TABLE[np.minimum if sign == "min" else np.maximum](trace, old, value)
        else:
            is_whole = sign == "/" and old.dtype.kind in "iu"
            found = trace.operated("//" if is_whole else sign, old, value)
        assert isinstance(found, Number)
        return _stored(old, found)

    return new


def _stored(old: Number, value: Value) -> Expression:
    """Return a value as an element has it."""
    if not isinstance(value, Number):
        raise Refused("an atomic update by what is no number", "write a loop over elements")
    if not value.weak and not np.can_cast(value.dtype, old.dtype, "same_kind"):
        raise Refused(f"{value.dtype} is not stored as {old.dtype}, as NumPy says, too")
    if value.weak and "biufc".index(value.dtype.kind) > "biufc".index(old.dtype.kind):
        raise Refused(f"{value.dtype} is not stored as {old.dtype}", "convert it: int(...)")
    return operand_tree(value, value.element(), old.dtype)


def _given(_trace: Any, old: Number, values: Sequence[Value]) -> Expression:
    return _stored(old, values[0])


def _chosen(_trace: Any, old: Number, values: Sequence[Value]) -> Expression:
    expected, value = (_stored(old, one) for one in values)
    assert old.tree is not None
    return ex.If(ex.Comparison(old.tree, "==", expected), value, old.tree)


def mark_atomic(nodes: Nodes, parallel: Collection[str]) -> None:
    """Make the fetches atomic that are in loops which are claimed to be parallel.

    Parameters:
        nodes: the statements; they are changed.
        parallel: the loops that are claimed to be parallel.
    """
    nodes.body = _Marker(nodes, parallel).block(nodes.body, _Place())[0]


@dataclass(frozen=True)
class _Place:
    """The place of statements: in a loop, in one that is claimed parallel, in a branch of it."""

    is_inside: bool = False
    is_claimed: bool = False
    is_asked: bool = False


class _Marker:
    def __init__(self, nodes: Nodes, parallel: Collection[str]) -> None:
        self._nodes, self._parallel = nodes, parallel

    def block(self, body: Sequence[Node], place: _Place) -> tuple[list[Node], list[Fetch]]:
        """Return statements, and the fetches of an iteration that are in branches."""
        made: list[Node] = []
        found: list[Fetch] = []
        for count, node in enumerate(body, 1):
            made.append(node)
            match node:
                case Fetch():
                    node.is_atomic = self._nodes.scalars[node.old].is_own = place.is_claimed
                    found += [node] if place.is_claimed and place.is_asked else []
                case For() | While():
                    is_claimed = place.is_claimed or node.iname in self._parallel
                    inner, asked = self.block(node.body, _Place(True, is_claimed))
                    node.body = [*map(self._begun, asked), *inner]
                    names = _fetched(node) if is_claimed and not place.is_claimed else []
                    if names and (place.is_inside or count < len(body)):
                        made.append(self._after(node, names))
                case When():
                    branch = replace(place, is_asked=True)
                    node.body, one = self.block(node.body, branch)
                    node.otherwise, other = self.block(node.otherwise, branch)
                    found += [*one, *other]
                case _:
                    pass
        return made, found

    def _after(self, loop: For | While, names: list[str]) -> InOrder:
        """Return what comes between a loop whose updates are in any order, and what is behind."""
        self._nodes.scalars["behind"] = Scalar("behind", np.dtype("int32"), is_own=True)
        return InOrder(tuple(names), "behind", loop.node)

    def _begun(self, fetch: Fetch) -> Assign:
        """Return what shows that no iteration has the old value of another one."""
        dtype = self._nodes.scalars[fetch.old].dtype
        return Assign(ex.Variable(fetch.old), literal(0, dtype), fetch.node)


def _fetched(node: Node) -> list[str]:
    """Return the arrays of which a statement fetches elements."""
    if isinstance(node, Fetch):
        return [ex.name_of(node.target)]
    if isinstance(node, When):
        parts = [*node.body, *node.otherwise]
    else:
        parts = node.body if isinstance(node, For | While) else []
    return sorted({name for part in parts for name in _fetched(part)})


ROWS: dict[Any, Callable[..., Value]] = {
    **{
        function: _row(function.__name__, _combined(sign), 1)
        for function, sign in OPERATIONS.items()
    },
    atomic_exchange: _row("atomic_exchange", _given, 1),
    atomic_compare_exchange: _row("atomic_compare_exchange", _chosen, 2),
}
