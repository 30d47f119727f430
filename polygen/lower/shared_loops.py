"""Loops in which all work items make the same iterations, around the loops over work items.

On targets without a grid, work items are iterations of loops.  Where such a loop holds another one,
compilers make no vectors of it, though neighbours read neighbours::

    for (int j = 0; j < 64; ++j) {            for (int j = 0; j < 64; ++j)
        float sum = 0;                            sum[j] = 0;
        for (int k = 0; k < n; ++k)           for (int k = 0; k < n; ++k) {
            sum += a[k] * b[64 * k + j];          for (int j = 0; j < 64; ++j)
        c[j] = sum;                                   sum[j] += a[k] * b[64 * k + j];
    }                                         }
                                              for (int j = 0; j < 64; ++j)
                                                  c[j] = sum[j];

A barrier in the loop over `k` does that: loops over work items end there, and start anew.  Whatever
the work items do, they may wait for each other where all of them come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.declare import expressions, mentioned
from polygen.lower.launches import Axis
from polygen.lower.neighbours import are_neighbours, nodes_in
from polygen.lower.program import Assign, Barrier, Block, Call, Declare, If, Loop, Node, Verbatim

_FEWEST_ITEMS = 8  # of neighbours, for which what they keep may be in memory
_MOST_BYTES = 2**16  # of what they keep: caches have room for more
_MOST_PARTS = 32  # of a loop's body, each in loops over work items of its own: compilers need time
_UNROLLED = 16  # statements of a loop that compilers unroll
_WAIT = Barrier(frozenset())


def with_shared_loops(body: Block, axes: Sequence[Axis], private: Mapping[str, Declare]) -> Block:
    """Return what work items execute with a barrier in each loop that goes around those over items.

    Parameters:
        body: what each work item executes.
        axes: those of work items, the innermost first.
        private: how variables are declared that each work item has for itself.
    """
    size = axes[0].size if axes else 0
    if not isinstance(size, int) or size < _FEWEST_ITEMS:
        return body
    return _Shared(body, axes, private).block(body)


def written_names(region: Block) -> frozenset[str]:
    """Return the variables that statements write."""
    found: set[str] = set()
    for node in nodes_in(region):
        if isinstance(node, Assign):
            found |= {ex.name_of(target) for target, _ in node.pairs}
        elif isinstance(node, Verbatim | Call):
            found |= set(node.writes)
    return frozenset(found)


def is_stable(node: Loop | If, written: frozenset[str]) -> bool:
    """Tell whether bounds or a condition are the same whenever they are asked."""
    parts = [part for head in expressions(node) for part in walk.subexpressions(head)]
    reads_arrays = any(isinstance(part, ex.Subscript) for part in parts)
    return not reads_arrays and written.isdisjoint(mentioned_by_head(node))


def mentioned_by_head(node: Loop | If) -> frozenset[str]:
    """Return the names in bounds or a condition."""
    return mentioned((replace(node, body=()),))


def synchronizes(node: Node) -> bool:
    """Tell whether there is a barrier in a statement."""
    if isinstance(node, Loop | If):
        return any(synchronizes(child) for child in node.body)
    return isinstance(node, Barrier)


class _Shared:
    def __init__(self, body: Block, axes: Sequence[Axis], private: Mapping[str, Declare]) -> None:
        self._items = frozenset(name for axis in axes for name, _ in axis.inames)
        self._neighbours = [name for name, _ in axes[0].inames]
        self._private = private
        self._written = written_names(body)
        self._count = 1
        for axis in axes:
            assert isinstance(axis.size, int)  # groups have constant sizes
            self._count *= axis.size

    def block(self, nodes: Block) -> Block:
        """Return statements with barriers in loops that may go around those over items."""
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop | If) and synchronizes(node):
                found.append(replace(node, body=self.block(node.body)))
            elif isinstance(node, Loop):
                found.append(self._loop(node))
            elif isinstance(node, If) and is_stable(node, self._written):
                inside = replace(node, body=self.block(node.body))
                parts = synchronizes(inside) and self._differs(node)
                found += _under(node.condition, inside.body) if parts else (inside,)
            else:
                found.append(node)
        return tuple(found)

    def _loop(self, loop: Loop) -> Loop:
        if not self._goes_around(loop):
            return loop
        holds_loops = any(isinstance(node, Loop) for node in nodes_in(loop.body))
        if not holds_loops and _is_unrolled(loop):
            return loop
        asked = groupby(self._asked(self.block(loop.body), ()), itemgetter(0))
        parts = [(conditions, tuple(node for _, node in part)) for conditions, part in asked]
        if len(parts) > _MOST_PARTS:
            return loop
        body: list[Node] = []
        for conditions, nodes in parts:
            body += (*(_under(_all_of(conditions), nodes) if conditions else nodes), _WAIT)
        return replace(loop, body=tuple(body))

    def _asked(
        self, nodes: Block, conditions: tuple[Expression, ...]
    ) -> Iterator[tuple[tuple[Expression, ...], Node]]:
        """Yield statements with the conditions on items that each depends on."""
        for node in nodes:
            if isinstance(node, If) and self._differs(node) and is_stable(node, self._written):
                yield from self._asked(node.body, (*conditions, *walk.conjuncts(node.condition)))
            else:
                yield conditions, node

    def _goes_around(self, loop: Loop) -> bool:
        """Tell whether all items make the iterations of a nest, which become vectors."""
        nodes = list(nodes_in((loop,)))
        if not all(map(self._is_plain, nodes)):
            return False
        if not all(are_neighbours(nodes, name, self._private) for name in self._neighbours):
            return False
        kept = [self._private[name] for name in mentioned(nodes) & self._private.keys()]
        return self._count * sum(map(_bytes, kept)) <= _MOST_BYTES

    def _is_plain(self, node: Node) -> bool:
        if isinstance(node, Loop):
            copied = node.unroll or node.at_once
            return not copied and not self._differs(node) and is_stable(node, self._written)
        if isinstance(node, Assign):
            return node.atomicity is None and not node.others and not node.asynchronous
        return isinstance(node, If)

    def _differs(self, node: Loop | If) -> bool:
        """Tell whether bounds or a condition depend on which item it is."""
        return not self._items.isdisjoint(mentioned_by_head(node))


def _all_of(conditions: tuple[Expression, ...]) -> Expression:
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(conditions)


def _under(condition: Expression, nodes: Block) -> list[Node]:
    """Return statements under a condition that is asked for each of them, inside of loops."""
    found: list[Node] = []
    together: list[Node] = []
    for node in (*nodes, _WAIT):
        if not synchronizes(node):
            together.append(node)
            continue
        if together:
            found.append(If(condition, tuple(together)))
            together = []
        if isinstance(node, Loop | If):
            found.append(replace(node, body=tuple(_under(condition, node.body))))
        else:
            found.append(node)
    return found[:-1]  # the barrier at the end was ours


def _is_unrolled(loop: Loop) -> bool:
    """Tell whether compilers make statements of all iterations of a loop."""
    if not isinstance(loop.lower, int) or not isinstance(loop.upper, int):
        return False
    return len(range(loop.lower, loop.upper, loop.step)) * len(loop.body) <= _UNROLLED


def _bytes(declared: Declare) -> int:
    return declared.dtype.itemsize * (declared.extent or 1) * (declared.vector or 1)
