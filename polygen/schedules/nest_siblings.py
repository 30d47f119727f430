"""Nests that stand side by side: what each of them touches, and which have to come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.domains import domain_temporaries
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree, statements
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.schedules.iteration_distances import Touch


@dataclass(frozen=True)
class Sibling:
    """A nest, or an instruction, beside others in the same loops.

    Attributes:
        ids: its instructions, in order.
        loops: the loops that all of them are in, outermost first; none of what is around.
        of_insns: what each of them reads and writes, in order.
        bounds: the variables that bounds of its loops mention.
        is_plain: whether it is a nest of element-wise assignments that may be fused.
    """

    ids: tuple[str, ...]
    loops: tuple[str, ...]
    of_insns: tuple[tuple[Touch, ...], ...]
    bounds: frozenset[str]
    is_plain: bool

    @cached_property
    def touches(self) -> tuple[Touch, ...]:
        """All that it reads and writes, in order."""
        return tuple([touch for touches in self.of_insns for touch in touches])

    @property
    def written(self) -> set[str]:
        """The variables that are written."""
        return {touch.name for touch in self.touches if touch.is_write}

    @property
    def read(self) -> set[str]:
        """The variables that are read, by its bounds too."""
        return {touch.name for touch in self.touches if not touch.is_write}.union(self.bounds)


def families(kernel: Kernel) -> Iterator[list[Sibling]]:
    """Yield the siblings of each loop body, in order, outer bodies first; single ones not.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
    """
    plain = kernel.expanded
    pending: list[tuple[Sequence[TreeNode], frozenset[str]]] = [
        (loop_tree(plain, quiet=True), NO_NAMES)
    ]
    for nodes, around in pending:
        if sum(isinstance(node, LoopNode) for node in nodes) > 1:
            yield [sibling_of(plain, node, around, kernel) for node in nodes]
        pending += [
            (node.children, around | {node.iname}) for node in nodes if isinstance(node, LoopNode)
        ]


def plain_nests(kernel: Kernel) -> Iterator[Sibling]:
    """Yield the nests, also those inside of others, that are of element-wise assignments alone.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
    """
    plain = kernel.expanded
    pending = [(node, NO_NAMES) for node in loop_tree(plain, quiet=True)]
    for node, around in pending:
        if not isinstance(node, LoopNode):
            continue
        nest = sibling_of(plain, node, around, kernel)
        if nest.is_plain:
            yield nest
        else:
            pending += [(child, around | {node.iname}) for child in node.children]


def sibling_of(plain: Kernel, node: TreeNode, around: frozenset[str], kernel: Kernel) -> Sibling:
    """Return a node of the loop tree as a sibling.

    Parameters:
        plain: the kernel, rules and calls expanded.
        node: a loop or an instruction.
        around: the loops around it.
        kernel: the kernel as it is.
    """
    insns = list(statements([node]))
    loops = tuple(_loops(node))
    known = around.union(*(i.within_inames for i in insns)) | integer_parameters(plain)
    found = [[_touch(plain, r, known, loops) for r in references(insn)] for insn in insns]
    inames = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in insns))
    return Sibling(
        tuple([insn.id for insn in insns]),
        loops,
        tuple([tuple([t for t in touches if t is not None]) for touches in found]),
        domain_temporaries(plain, inames),
        bool(loops) and _is_plain(kernel, insns, around.union(loops), loops),
    )


def _loops(node: TreeNode) -> Iterator[str]:
    while isinstance(node, LoopNode):
        yield node.iname
        if len(node.children) != 1:
            return
        node = node.children[0]


def _is_plain(
    kernel: Kernel, insns: Sequence[Instruction], inames: frozenset[str], loops: Sequence[str]
) -> bool:
    """Tell whether a nest is of assignments alone, all of them in its innermost loop."""
    known = kernel.instructions_by_id
    return all(isinstance(kernel.tags.get(i, ForTag()), ForTag) for i in loops) and all(
        isinstance(insn, Assignment)
        and insn.id in known
        and not isinstance(known[insn.id], KernelCall)
        and insn.within_inames == inames
        and not (insn.reductions or insn.atomicity or insn.update or insn.happens_after)
        for insn in insns
    )


def _touch(
    kernel: Kernel, use: Reference, known: frozenset[str], loops: Sequence[str]
) -> Touch | None:
    variable = kernel.variables.get(use.name)
    if not isinstance(variable, GlobalArg | TemporaryVariable):
        return None
    is_own = not variable.shape and kernel.address_space(use.name) is AddressSpace.PRIVATE
    return Touch(
        use.name,
        tuple([_form(index, known, loops) for index in use.index]),
        use.is_write,
        not (use.conditions or use.vague),
        is_own,
    )


def _form(index: Expression, known: frozenset[str], loops: Sequence[str]) -> LinearForm | None:
    """Return a subscript as a linear form; None if it is none of the loops."""
    form = linear_form(index, known)
    if form is None:
        return None
    divided = [t for t in form.terms if not isinstance(t, str)]
    return None if any(not t.numerator.names().isdisjoint(loops) for t in divided) else form


def orders(kernel: Kernel, siblings: Sequence[Sibling]) -> list[set[int]]:
    """Return, for each sibling, the positions of those that have to come before it.

    By what they touch; by dependencies, if one of them assigns to nothing.
    """
    position = {name: place for place, sibling in enumerate(siblings) for name in sibling.ids}
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    found: list[set[int]] = []
    for place, sibling in enumerate(siblings):
        before = {writer[name] for name in sibling.read | sibling.written if name in writer}
        for name in sibling.written:
            before.update(readers.pop(name, ()))
            writer[name] = place
        for name in sibling.read:
            readers.setdefault(name, []).append(place)
        found.append(before - {place})
    for earlier, later in dependencies(kernel, position):
        if not (_assigns(kernel, siblings[earlier]) and _assigns(kernel, siblings[later])):
            found[later].add(earlier)
    return found


def dependencies(kernel: Kernel, position: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places of which the second depends on the first, directly.

    Parameters:
        kernel: the kernel, rules and calls expanded.
        position: the place of each instruction.
    """
    for name, place in position.items():
        for earlier in kernel.instruction(name).depends_on:
            if position.get(earlier, place) != place:
                yield position[earlier], place


def _assigns(kernel: Kernel, sibling: Sibling) -> bool:
    return all(isinstance(kernel.instruction(name), Assigning) for name in sibling.ids)
