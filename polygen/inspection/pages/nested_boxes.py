"""The loops around the instructions of a kernel as nested boxes, for pictures.

The boxes of loops are those of the loop nest that code is generated from.  What is drawn and not
generated are the boxes of parallel inames, which are no loops: each is drawn as far outside as
all that is in it allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree, statements
from polygen.errors import (
    AmbiguousNesting,
    DependencyCycle,
    DomainCycle,
    NoLoopNest,
    PriorityIgnored,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel

_Open: TypeAlias = tuple[TreeNode, frozenset[str]]  # and the parallel inames without a box
_NO_NEST = (NoLoopNest, DependencyCycle, DomainCycle)
_SILENCED = (AmbiguousNesting.__name__, PriorityIgnored.__name__)


@dataclass(frozen=True)
class Box:
    """A box in a picture of a kernel: an iname's loop, or a shared parallel iname."""

    iname: str
    children: tuple[Item, ...]


Item: TypeAlias = Box | Instruction


@dataclass(frozen=True)
class Nesting:
    """The boxes of a kernel.

    Attributes:
        items: outermost boxes, and instructions that are in none.
        loose: the ids of the instructions for which there is no nest: they are drawn in none.
        problem: why the kernel has no nest, or None if it has one.
    """

    items: tuple[Item, ...]
    loose: frozenset[str] = frozenset()
    problem: str | None = None


def nesting(kernel: Kernel, *, in_order: bool = False) -> Nesting:
    """Return the boxes around the instructions of a kernel.

    Where no nest has one loop an iname, those instructions that share no loop with the culprits
    are nested all the same.

    Parameters:
        kernel: its types need not be known.
        in_order: keep the order in which the instructions are executed; then a parallel iname has
            a box for each run of neighbours.  Otherwise it has as few boxes as possible.
    """
    options = replace(kernel.options, silenced_warnings=_SILENCED)
    quiet = kernel.copy(options=options)
    try:
        return Nesting(_Boxes(quiet, in_order).around(loop_tree(quiet), frozenset()))
    except _NO_NEST as error:
        problem = error.what
    items: list[Item] = []
    loose: set[str] = set()
    for part in _parts(kernel):
        try:
            tree = loop_tree(quiet.copy(instructions=part))
            items += _Boxes(quiet, in_order).around(tree, frozenset())
        except _NO_NEST:
            items += part
            loose.update(insn.id for insn in part)
    return Nesting(tuple(items), frozenset(loose), problem)


def _loops(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    return frozenset(i for i in insn.within_inames if not is_parallel(kernel.tags.get(i)))


def _parts(kernel: Kernel) -> list[tuple[Instruction, ...]]:
    """Partition the instructions into those that share loops, directly or through others."""
    parts: list[tuple[set[str], list[Instruction]]] = []
    for insn in kernel.instructions:
        inames = set(_loops(kernel, insn))
        members = [insn]
        for part in [p for p in parts if p[0] & inames]:
            parts.remove(part)
            inames |= part[0]
            members = part[1] + members
        parts.append((inames, members))
    return [tuple(members) for _, members in parts]


class _Boxes:
    """Puts the statements of a loop tree into boxes."""

    def __init__(self, kernel: Kernel, in_order: bool) -> None:
        self._kernel = kernel
        self._in_order = in_order

    def around(self, nodes: Sequence[TreeNode], drawn: frozenset[str]) -> tuple[Item, ...]:
        """Return siblings as boxes; `drawn` are the parallel inames that have a box around them."""
        items: list[Item] = []
        rest: list[_Open] = [(node, _common(self._kernel, node) - drawn) for node in nodes]
        while rest:
            node, open_inames = rest[0]
            if not open_inames:
                items += self._item(node, drawn)
                rest.pop(0)
                continue
            # The iname that most siblings share; the grid's axes in order where several do.
            ranked = [
                (-len(self._sharing(rest, i)), str(self._kernel.tags[i]), i) for i in open_inames
            ]
            widest = min(ranked)[2]
            inside = self._sharing(rest, widest)
            taken = {id(node) for node, _ in inside}
            rest = [(node, inames) for node, inames in rest if id(node) not in taken]
            within = self.around([node for node, _ in inside], drawn | {widest})
            items.append(Box(widest, within))
        return tuple(items)

    def _sharing(self, siblings: list[_Open], iname: str) -> list[_Open]:
        """Return the siblings that go into one box, of which the first is one."""
        if self._in_order:
            return list(takewhile(lambda entry: iname in entry[1], siblings))
        return [entry for entry in siblings if iname in entry[1]]

    def _item(self, node: TreeNode, drawn: frozenset[str]) -> list[Item]:
        if isinstance(node, LoopNode):
            return [Box(node.iname, self.around(node.children, drawn))]
        return [node] if isinstance(node, Instruction) else []


def _common(kernel: Kernel, node: TreeNode) -> frozenset[str]:
    """Return the parallel inames that all instructions below `node` are in."""
    inames = [insn.within_inames - _loops(kernel, insn) for insn in statements((node,))]
    return inames[0].intersection(*inames[1:]) if inames else frozenset()
