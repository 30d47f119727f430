"""The statements that a kernel's reductions become, and where in the loop tree they stand.

A reduction is executed as lowering will: its accumulator starts, is updated in the loops of the
reduction's inames, and is then used.  Where other instructions stand in these loops, this is what
says when a reduction reads what they write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

Place: TypeAlias = tuple[int | str, ...]  # positions among siblings, and the loops between


@dataclass(frozen=True)
class Places:
    """The places of all statements.

    Attributes:
        of: by instruction and the inames around: a position among siblings, the iname of the loop
            there, a position in it, and so on.
        depth: the length of the longest.
    """

    of: Mapping[tuple[str, frozenset[str]], Place]
    depth: int


@per_kernel
def places(kernel: Kernel) -> Places:
    """Return where the statements of a kernel stand, those of its reductions included.

    Raises:
        NoLoopNest, DependencyCycle: if no execution is permitted.
    """
    statements, ids = realized(kernel)
    by_id = dict(_places(loop_tree(statements, quiet=True), ()))
    of = {key: by_id[insn_id] for key, insn_id in ids.items()}
    return Places(of, max((len(place) for place in of.values()), default=0))


@per_kernel
def realized(kernel: Kernel) -> tuple[Kernel, Mapping[tuple[str, frozenset[str]], str]]:
    """Return the statements as a kernel, and their ids by instruction and the inames around.

    Of reductions of one instruction within the same inames, these are the ids of the last update.
    """
    maker = _Maker(kernel)
    return kernel.copy(instructions=maker.run()), maker.ids


def _places(nodes: Sequence[TreeNode], around: Place) -> Iterator[tuple[str, Place]]:
    for position, node in enumerate(nodes):
        here = (*around, position)
        if isinstance(node, LoopNode):
            yield from _places(node.children, (*here, node.iname))
        elif isinstance(node, Instruction):
            yield node.id, here


@per_kernel
def shares_reduction_loops(kernel: Kernel) -> bool:
    """Tell whether an instruction stands in the loop of another's reduction."""
    reduced = {i for insn in kernel.instructions for i in insn.reduction_inames}
    if not reduced:
        return False
    return any(not reduced.isdisjoint(insn.within_inames) for insn in kernel.instructions)


class _Maker:
    """Makes the instructions of the kernel without reductions; what they compute is left out."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._made: list[Instruction] = []
        self.ids: dict[tuple[str, frozenset[str]], str] = {}

    def run(self) -> tuple[Instruction, ...]:
        for insn in self._kernel.instructions:
            self.ids[insn.id, insn.within_inames] = insn.id
            if not insn.reduction_inames:
                self._made.append(insn)
                continue
            updates = self._updates(insn, insn.reads, insn.within_inames, insn.depends_on)
            self._made.append(
                insn.map_expressions(_without_reductions).copy(depends_on=insn.depends_on | updates)
            )
        return tuple(self._made)

    def _updates(
        self,
        insn: Instruction,
        nodes: Sequence[Expression],
        around: frozenset[str],
        depends_on: frozenset[str],
    ) -> frozenset[str]:
        """Make what the outermost reductions of expressions become; return their last ones."""
        found: set[str] = set()
        for reduction in dict.fromkeys(r for node in nodes for r in _outermost(node)):
            number = len(self._made)
            start, update = f"{insn.id}'{number}", f"{insn.id}'{number}'"
            accumulator = ex.Variable(start)
            early = self._outside(depends_on, reduction.inames)
            self._made.append(Assignment(start, accumulator, 0, around, early))
            inside = around.union(reduction.inames)
            inner = self._updates(insn, (reduction.operand,), inside, depends_on | {start})
            self._made.append(
                Assignment(update, accumulator, 0, inside, depends_on | {start} | inner)
            )
            self.ids[insn.id, inside] = update
            found.add(update)
        return frozenset(found)

    def _outside(self, ids: frozenset[str], inames: tuple[str, ...]) -> frozenset[str]:
        by_id = self._kernel.instructions_by_id
        return frozenset(
            i for i in ids if i not in by_id or by_id[i].within_inames.isdisjoint(inames)
        )


def _without_reductions(node: Expression) -> Expression:
    """Return an expression that reads nothing in reductions: where it stands is what counts."""
    if ex.Reduction not in walk.classes(node):
        return node
    if isinstance(node, ex.Reduction):
        return 0
    return walk.rebuild(node, tuple([_without_reductions(part) for part in walk.parts(node)]))


def _outermost(node: Expression) -> Iterator[ex.Reduction]:
    if isinstance(node, ex.Reduction):
        yield node
    elif ex.Reduction in walk.classes(node):
        for part in walk.parts(node):
            yield from _outermost(part)
