"""The values that the loops of a tree have, and their bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from math import prod

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, assignments
from polygen.analysis.order.shuffled_arrays import shuffles_of
from polygen.ir.domain import (
    project_out,
    without_constraints_on,
)
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.tags import (
    IlpTag,
    LocalTag,
    MatrixTag,
    UnrollHintTag,
    UnrollTag,
    VectorTag,
    is_on_axis,
)
from polygen.lower.bounds import Bounds, constant_bounds, loop_bounds
from polygen.lower.items import Place
from polygen.lower.needed_guards import equations
from polygen.lower.separate import with_equality

_DEEP = 3  # loops inside of each other
_MANY_EMPTY = 1 << 11  # iterations


class LoopRanges:
    """Finds the values and the bounds of loops.

    Parameters:
        kernel: with types known and without reductions.
        ends_partial_tiles: whether bounds of loops, rather than guards in them, say where partial
            tiles end.
    """

    def __init__(self, kernel: Kernel, *, ends_partial_tiles: bool) -> None:
        self._kernel = kernel
        self._ends_partial_tiles = ends_partial_tiles
        self._local_inames = frozenset(
            i for i, tag in kernel.tags.items() if isinstance(tag, LocalTag)
        )
        self._shuffles = shuffles_of(kernel)

    def _parallel(self, node: LoopNode) -> frozenset[str]:
        """Return the inames on hardware axes that all assignments in the loop are within."""
        some, *others = [insn.within_inames for insn in assignments(node.children)]
        shared = some.intersection(*others)
        return frozenset(i for i in shared if is_on_axis(self._kernel.tags.get(i)))

    def _unrolled_bounds(self, node: LoopNode, place: Place) -> Bounds:
        """Return bounds that are constants, if there are such; what else restricts is guards."""
        bounds = self._bounds(node, place)
        if bounds.constant is None and place.values:
            bounds = self._bounds(node, place, fixed=True)
        if bounds.constant is None and bounds.only_value is None:
            alone = frozenset((node.iname,))
            values = self._values(node, alone)
            bounds = constant_bounds(node.iname, values) or bounds
        return bounds

    def _bounds(
        self, node: LoopNode, place: Place, *, fixed: bool = False, divided: bool = False
    ) -> Bounds:
        """Return the bounds of a loop, if `fixed` for this copy of an unrolled loop's body."""
        kept = place.loops | {node.iname} | self._parallel(node)
        if self._synchronizes(node):
            kept -= self._local_inames  # all items of a group make the same iterations
        first = place.part.of(self._values(node, kept))
        if place.part.points is not None:
            first = with_equality(first, node.iname)
        if fixed:
            first = project_out(first.intersect(equations(place.values)), sorted(place.values))
        unrolled = self._is_unrolled(node)
        found = loop_bounds(node.iname, first, place.known, constant_first=unrolled, exact=divided)
        tag = self._kernel.tags.get(node.iname)
        copied = unrolled or isinstance(tag, UnrollHintTag | MatrixTag)
        if not self._ends_partial_tiles or copied or found.constant is None:
            return found
        if place.part.points is None:
            first = self._without_inner_loops(node, kept) or first
        # Work items with the same bounds become vectors.
        return loop_bounds(node.iname, first, place.known, asked_inside=self._local_inames)

    def _without_inner_loops(self, node: LoopNode, kept: frozenset[str]) -> isl.Set | None:
        """Return values of the `kept` inames beyond which loops inside make no iterations.

        None if these are not all between constants, or so many that to find them empty takes long.
        """
        inner = frozenset(self._loops_inside(node))
        if not inner:
            return None
        found = self._values(node, kept, inner)
        bounds = constant_bounds(node.iname, found)
        return None if bounds is None or self._is_deep(node, bounds) else found

    def _is_deep(self, node: LoopNode, bounds: Bounds) -> bool:
        """Tell whether a loop is around three others, of many iterations, the innermost's aside."""
        counts = [len(bounds.constant or ())]
        while (
            inner := next((c for c in node.children if isinstance(c, LoopNode)), None)
        ) is not None:
            found = constant_bounds(inner.iname, self._values(inner, frozenset((inner.iname,))))
            counts.append(len((found and found.constant) or (0,)))
            node = inner
        return len(counts) > _DEEP and prod(counts[:-1]) > _MANY_EMPTY

    def _loops_inside(self, node: LoopNode) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, LoopNode) and not self._is_unrolled(child):
                yield child.iname
                yield from self._loops_inside(child)

    def _values(
        self, node: LoopNode, kept: frozenset[str], free: frozenset[str] = NO_NAMES
    ) -> isl.Set:
        """Return the values of the `kept` inames for which something in the loop is executed.

        Parameters:
            node: the loop.
            kept: the inames.
            free: those of which it may be that they have no value then.
        """
        inside = {insn.within_inames for insn in assignments(node.children)}
        first, *others = [self._projected(i, kept, free) for i in sorted(inside, key=sorted)]
        if any(not first.is_equal(other) for other in others):
            first = reduce(isl.Set.union, others, first).coalesce()
        return first

    def _projected(
        self, inames: frozenset[str], kept: Iterable[str], free: frozenset[str]
    ) -> isl.Set:
        domain = without_constraints_on(domain_of(self._kernel, inames), free)
        return project_out(domain, sorted(inames - frozenset(kept)))

    def _synchronizes(self, node: LoopNode) -> bool:
        """Tell whether work items meet in a loop: at a barrier, or where they read of others."""
        return _has_barrier(node) or any(self._shuffles.of(i.id) for i in assignments((node,)))

    def _is_unrolled(self, node: LoopNode) -> bool:
        """Tell whether a loop becomes copies of its body, unless all are executed at once."""
        tag = self._kernel.tags.get(node.iname)
        return isinstance(tag, UnrollTag | VectorTag) or tag == IlpTag()


def _has_barrier(node: TreeNode) -> bool:
    if isinstance(node, LoopNode):
        return any(_has_barrier(child) for child in node.children)
    return isinstance(node, BarrierNode)
