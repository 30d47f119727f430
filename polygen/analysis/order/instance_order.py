"""Orders two instances of instructions.

Two instances are compared by the sequential loops that both instructions are in, outermost
first; where none of these differs, dependencies decide.  Inames on hardware axes are left out:
instances that differ in nothing else are unordered, unless dependencies order the instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.dependency_relations import compared, equal_in, related_pairs
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.errors import RelationContradicted
from polygen.ir.domain import flat_names, rename_dimension
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.verify import excerpt


@dataclass(frozen=True)
class Piece:
    """Pairs of instances that agree in some loops and increase in the next.

    Attributes:
        equal: the loops in which both instances are in the same iteration.
        less: the loop in which the first instance is in an earlier iteration; None if the order
            comes from dependencies alone.
        only: pairs of instances, to which the piece is limited; None if to none.
    """

    equal: tuple[str, ...]
    less: str | None
    only: isl.Set | None = None


class Order:
    """The order of the instances of a kernel's instructions."""

    def __init__(self, kernel: Kernel) -> None:
        self._loops: dict[str, tuple[str, ...]] = {}
        self._path: dict[str, tuple[int, ...]] = {}
        self._reach: dict[tuple[int, ...], list[int]] = {}
        self._bits = {insn.id: 1 << p for p, insn in enumerate(kernel.instructions)}
        self._inside: dict[tuple[int, ...], list[int]] = {}  # the instructions of each sibling
        self._later: dict[tuple[int, ...], list[int]] = {}  # those of siblings that come after it
        self._enter(loop_tree(kernel, quiet=True), (), ())
        self._close(kernel)
        self._kernel = kernel
        for insn in kernel.instructions:
            for first in sorted({relation.first for relation in insn.happens_after}):
                self._check_relation(first, insn.id)

    def _enter(
        self, nodes: Sequence[TreeNode], loops: tuple[str, ...], path: tuple[int, ...]
    ) -> int:
        """Note for each instruction the loops around it, and where in the tree it is."""
        self._reach[path] = [0] * len(nodes)
        inside = self._inside[path] = [0] * len(nodes)
        for position, node in enumerate(nodes):
            here = (*path, position)
            if isinstance(node, LoopNode):
                inside[position] = self._enter(node.children, (*loops, node.iname), here)
            elif isinstance(node, Instruction):
                self._loops[node.id] = loops
                self._path[node.id] = here
                inside[position] = self._bits[node.id]
        return reduce(int.__or__, inside, 0)

    def _close(self, kernel: Kernel) -> None:
        """Find which siblings must come after which: through others, too."""
        edges: dict[tuple[int, ...], set[tuple[int, int]]] = {}
        for insn in kernel.instructions:
            for dep in insn.depends_on:
                depth = _common(self._path[dep], self._path[insn.id])
                if depth < min(len(self._path[dep]), len(self._path[insn.id])):
                    block = self._path[insn.id][:depth]
                    pair = (self._path[dep][depth], self._path[insn.id][depth])
                    edges.setdefault(block, set()).add(pair)
        for block, pairs in edges.items():
            reach, inside = self._reach[block], self._inside[block]
            later = self._later[block] = [0] * len(inside)
            # Siblings are sorted, so what comes after a later one is known already.
            for first, second in sorted(pairs, reverse=True):
                reach[first] |= 1 << second | reach[second]
                later[first] |= inside[second] | later[second]

    def loops(self, insn_id: str) -> tuple[str, ...]:
        """Return the sequential loops around an instruction, outermost first."""
        return self._loops[insn_id]

    def path(self, insn_id: str) -> tuple[int, ...]:
        """Return where an instruction stands in the loop tree: later ones have larger paths."""
        return self._path[insn_id]

    def shared_loops(self, first: str, second: str) -> tuple[str, ...]:
        """Return the sequential loops around both instructions, outermost first."""
        a, b = self._loops[first], self._loops[second]
        return a[: _common(a, b)]

    def depends(self, first: str, second: str) -> bool:
        """Tell whether, within their shared loops, `first` must come before `second`."""
        a, b = self._path[first], self._path[second]
        depth = _common(a, b)
        if depth == min(len(a), len(b)):
            return False  # one and the same
        return bool(self._reach[a[:depth]][a[depth]] >> b[depth] & 1)

    def followers(self, insn_id: str) -> int:
        """Return, as bits at their numbers, the instructions that must come after one.

        Those of which `depends` tells that they do: numbers are those of the kernel's order.
        """
        path, found = self._path[insn_id], 0
        for depth, position in enumerate(path):
            later = self._later.get(path[:depth])
            if later is not None:
                found |= later[position]
        return found

    def before(self, first: str, second: str) -> Iterator[Piece]:
        """Yield, disjoint, the pairs of which the instance of `first` comes first."""
        shared = self.shared_loops(first, second)
        for depth, loop in enumerate(shared):
            yield Piece(shared[:depth], loop)
        if self.depends(first, second):
            yield Piece(shared, None)
        elif (pairs := self.related(first, second)) is not None:
            yield Piece(shared, None, pairs)

    def related(self, first: str, second: str) -> isl.Set | None:
        """Return pairs of instances, in the same iteration of shared loops, that are ordered.

        That is, where dependencies on instances order some only; None if they order none.
        """
        pairs = related_pairs(self._kernel, first, second)
        if pairs is None or first == second:
            return None
        pairs = equal_in(pairs, self.shared_loops(first, second))
        return None if pairs.is_empty() else pairs

    def related_either_way(self, first: str, second: str) -> isl.Set | None:
        """Return `related` pairs, those whose instance of `second` comes first among them."""
        ordered = self.related(first, second), self._swapped(self.related(second, first))
        known = [pairs for pairs in ordered if pairs is not None]
        return reduce(isl.Set.union, known) if known else None

    def _swapped(self, pairs: isl.Set | None) -> isl.Set | None:
        """Return pairs with the second instance as the first."""
        if pairs is None:
            return None
        for old, new in (("", " first"), (OTHER, ""), (" first", OTHER)):
            for iname in self._kernel.inames:
                pairs = rename_dimension(pairs, iname + old, iname + new)
        return pairs

    def _check_relation(self, first: str, second: str) -> None:
        """Refuse relations of which loops put the second instance first."""
        pairs = related_pairs(self._kernel, first, second)
        if pairs is None:
            return
        shared = self.shared_loops(first, second)
        for depth, loop in enumerate(shared):
            wrong = equal_in(pairs, shared[:depth]).intersect(compared(loop, ">"))
            if not wrong.is_empty():
                self._refuse(first, second, wrong, f"the loop of '{loop}' puts the second first")
        if first == second and not equal_in(pairs, shared).is_empty():
            self._refuse(first, second, equal_in(pairs, shared), "no loop orders these")

    def _refuse(self, first: str, second: str, pairs: isl.Set, why: str) -> None:
        sample = pairs.sample_point()
        names = flat_names(isl.Set.from_point(sample))
        values = [sample.get_coordinate_val(isl.dim_type.param, n) for n in range(len(names))]
        shown = ", ".join(sorted(f"{n} = {v}" for n, v in zip(names, values, strict=True)))
        raise RelationContradicted(
            f"'{second}' depends on instances of '{first}' that do not come before it: {why}, as "
            f"in [{shown}]",
            where=self._kernel.instruction(second).location,
            excerpt=excerpt(self._kernel, first, second),
            remedy="leave these pairs out of the relation; or give one of the instructions a loop "
            "of its own (dup=)",
        )


def _common(a: Sequence[object], b: Sequence[object]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


@per_kernel
def order_of(kernel: Kernel) -> Order:
    """Return the order of a kernel's instances.

    Raises:
        NoLoopNest, DependencyCycle: if no execution is permitted.
    """
    return Order(kernel)
