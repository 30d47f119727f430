"""Places waits for asynchronous copies.

It waits ahead of each barrier that copies may reach, so that what is behind the barrier finds them
made, whoever made them; and wherever it comes itself to what touches the same elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, WaitNode, assignments
from polygen.errors import NotAsynchronous
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.instruction import Assigning, Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.ir.verify_asynchronous import copied, why_not_asynchronous
from polygen.lower.launches import has_global_barrier
from polygen.lower.waits import Conflicts


def without_asynchronous(kernel: Kernel) -> Kernel:
    """Return the kernel with all copies made where they stand."""
    if not any(insn.asynchronous for insn in kernel.assignments):
        return kernel
    return kernel.copy(
        instructions=tuple(
            [
                replace(i, asynchronous=False) if isinstance(i, Assignment) else i
                for i in kernel.instructions
            ]
        )
    )


def check_asynchronous(kernel: Kernel) -> None:
    """Check that what is asynchronous copies from global to local memory.

    Parameters:
        kernel: with types, and an address space for each temporary.

    Raises:
        NotAsynchronous: if it does not.
    """
    copies = list(_copies(kernel.assignments))
    if not copies:
        return
    spaces = {t.name: kernel.address_space(t.name) for t in kernel.temporaries}
    for insn in copies:
        why = why_not_asynchronous(kernel, insn, spaces)
        if why is not None:
            raise _refused(
                kernel,
                insn,
                why,
                "let the work items of a group share what is copied (an iname tagged l.0), or say "
                "temporary_address_space='local'; or leave the option out",
            )


def check_sources(kernel: Kernel, insns: Sequence[Assigning]) -> None:
    """Check that nothing is written in a launch that asynchronous copies read there.

    Raises:
        NotAsynchronous: if something is.
    """
    copies = list(_copies(insns))
    if not copies:
        return
    written = {name for insn in insns for name in insn.written_names}
    aliasing = {a.name for a in kernel.arguments if isinstance(a, GlobalArg) and a.may_alias}
    arguments = {a.name for a in kernel.arguments}
    for insn in copies:
        name = ex.name_of(copied(insn.expression))
        others = arguments if name in aliasing else aliasing if name in arguments else set[str]()
        for changed in sorted(written & (others | {name})):
            what = f"'{name}'" if changed == name else f"'{changed}', which may overlap '{name}',"
            raise _refused(
                kernel,
                insn,
                f"{what} is written in the same launch",
                "leave the option out, or write the array in a launch before",
            )


def _copies(insns: Sequence[Assigning]) -> Iterator[Assignment]:
    for insn in insns:
        if isinstance(insn, Assignment) and insn.asynchronous:
            yield insn


def _refused(kernel: Kernel, insn: Assignment, why: str, remedy: str) -> NotAsynchronous:
    return NotAsynchronous(
        f"instruction '{insn.id}' is asynchronous, but {why}",
        where=insn.location,
        excerpt=excerpt(kernel, insn.id),
        remedy=remedy,
    )


def place_waits(kernel: Kernel, tree: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Return a loop tree, which has its barriers, with a wait wherever one is needed."""
    if not any(True for _ in _copies(kernel.assignments)):
        return tuple(tree)
    placed, begun = _Placer(kernel).block(tree, (), under_way=False)
    return (*placed, WaitNode()) if begun else tuple(placed)


class _Placer:
    def __init__(self, kernel: Kernel) -> None:
        self._conflicts = Conflicts(kernel)

    def block(
        self, nodes: Sequence[TreeNode], loops: tuple[str, ...], *, under_way: bool
    ) -> tuple[list[TreeNode], list[Assignment]]:
        """Return siblings with waits, and the copies begun here that are not waited for.

        Parameters:
            nodes: the siblings.
            loops: the loops that they stand in.
            under_way: whether there may be copies begun before.
        """
        placed: list[TreeNode] = []
        begun: list[Assignment] = []
        for node in nodes:
            if isinstance(node, BarrierNode):
                needed = under_way or bool(begun)
            else:
                needed = self._needs(begun, node, loops) or (
                    bool(begun) and has_global_barrier(node)
                )
            if needed:
                placed.append(WaitNode())
                begun, under_way = [], False
            new, inside = self._inside(node, loops, under_way=under_way or bool(begun))
            placed.append(new)
            begun += inside
        return placed, begun

    def _inside(
        self, node: TreeNode, loops: tuple[str, ...], *, under_way: bool
    ) -> tuple[TreeNode, list[Assignment]]:
        if not isinstance(node, LoopNode):
            return node, list(_copies([node])) if isinstance(node, Assigning) else []
        inner = (*loops, node.iname)
        children, begun = self.block(node.children, inner, under_way=under_way)
        if begun and not under_way:  # in the next iteration, there are
            children, begun = self.block(node.children, inner, under_way=True)
        first = next((n for n, c in enumerate(children) if isinstance(c, WaitNode)), len(children))
        ahead = LoopNode(node.iname, tuple(children[:first]))
        if begun and (
            has_global_barrier(node) or self._needs(begun, ahead, loops, carried=node.iname)
        ):
            children, begun = [*children, WaitNode()], []
        return LoopNode(node.iname, tuple(children)), begun

    def _needs(
        self,
        begun: Sequence[Assignment],
        node: TreeNode,
        loops: tuple[str, ...],
        carried: str | None = None,
    ) -> bool:
        """Tell whether something in a node touches what copies have begun to read or to write."""
        return any(
            self._conflicts.meet(name, copy, second, loops, carried)
            for second in assignments((node,))
            for copy in begun
            for name in self._conflicts.shared(copy.id) & self._conflicts.shared(second.id)
        )
