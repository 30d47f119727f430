"""The loop nests of a kernel, as a schedule looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree, statements
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis, is_parallel
from polygen.tuning.expected_extents import expected_extent
from polygen.tuning.time_steps import is_time_step
from polygen.tuning.work import operations_in


@dataclass(frozen=True)
class Nest:
    """Loops that hold all the same instructions, and what is in them.

    Attributes:
        loops: the loops, outermost first.
        body: what is in the innermost one.
    """

    loops: tuple[str, ...]
    body: tuple[TreeNode, ...]

    @property
    def instructions(self) -> list[Instruction]:
        """All instructions, in order."""
        return list(statements(self.body))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the instructions."""
        return tuple([insn.id for insn in self.instructions])

    @property
    def inner(self) -> list[Nest]:
        """The nests in the innermost loop."""
        return [_nest(node) for node in self.body if isinstance(node, LoopNode)]

    @property
    def is_perfect(self) -> bool:
        """Whether no loop is inside of the innermost one of these."""
        return not self.inner

    @property
    def inames(self) -> frozenset[str]:
        """The loops, those inside, and what reductions run over."""
        used = [i.within_inames | i.reduction_inames for i in self.instructions]
        return frozenset(self.loops).union(*used)


def nests_of(kernel: Kernel) -> list[Nest]:
    """Return the outermost nests, in order; instructions in no loop are in none.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
    """
    tree = loop_tree(kernel.expanded, quiet=True)
    return [_nest(node) for node in tree if isinstance(node, LoopNode)]


def all_nests(nests: Sequence[Nest]) -> Iterator[Nest]:
    """Yield nests and those inside of them, outer ones first."""
    for nest in nests:
        yield nest
        yield from all_nests(nest.inner)


def _nest(node: LoopNode) -> Nest:
    loops, body = [node.iname], node.children
    while len(body) == 1 and isinstance(body[0], LoopNode):
        loops.append(body[0].iname)
        body = body[0].children
    return Nest(tuple(loops), body)


def is_on_axes(kernel: Kernel, nest: Nest) -> bool:
    """Tell whether a loop of a nest, or in it, is on an axis of the hardware; lanes are not."""
    return any(is_on_axis(kernel.tags.get(iname)) for iname in nest.inames)


def is_mapped(kernel: Kernel, nest: Nest) -> bool:
    """Tell whether a loop of a nest, or in it, is on an axis of the hardware, or of lanes."""
    return any(is_parallel(kernel.tags.get(iname)) for iname in nest.inames)


class Extents:
    """How many values inames are expected to have, and how often instructions are executed.

    Parameters:
        kernel: the kernel.
        sizes: the value that each size is expected to have.
    """

    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        self._kernel = kernel.expanded
        self._sizes = sizes
        self._known: dict[str, int] = {}

    def of(self, iname: str) -> int:
        """Return how many values an iname has, from the least to the largest.

        Where data decides, these are as many as shapes say, else few: a sparse row, say.
        """
        if iname not in self._known:
            self._known[iname] = expected_extent(self._kernel, iname, self._sizes)
        return self._known[iname]

    def instances(self, inames: Sequence[str] | frozenset[str]) -> int:
        """Return how often what is in some loops is executed, at most."""
        return prod(map(self.of, inames))

    def work(self, nest: Nest, outside: Sequence[str] = ()) -> int:
        """Return about how many operations a nest takes, for one iteration of what is outside."""
        return sum(
            weight_of(insn)
            * self.instances((insn.within_inames | insn.reduction_inames).difference(outside))
            for insn in nest.instructions
        )


def weight_of(insn: Instruction) -> int:
    """Return about how many operations an instruction takes each time."""
    values = insn.values if isinstance(insn, Assigning) else ()
    return 1 + sum(map(operations_in, values))


def loops_of_plane(kernel: Kernel, insn: Assignment) -> list[str] | None:
    """Return the loops around a statement, steps of time left out, that no stage has looked at.

    None if they are less than two, or if it reduces, or has conditions.
    """
    free = [i for i in kernel.inames if i in insn.within_inames and not is_time_step(kernel, i)]
    is_plain = not (insn.reductions or insn.predicates or any(map(kernel.tags.get, free)))
    return free if is_plain and len(free) > 1 else None
