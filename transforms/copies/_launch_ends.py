"""Marks the ends of launches with barriers, for steps that insert something before or after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from polygen.analysis.access.domains import all_reads
from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, statements
from polygen.analysis.pairs.iteration_local import apart, passes_nothing
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES, new_dict
from polygen.ir.instruction import Barrier, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall


@dataclass(frozen=True)
class LaunchPart:
    """The instructions of one launch.

    Attributes:
        ids: of its instructions.
        outer: the inames of the loops on the host around it.
        start: the id of the barrier that it comes after, if it is not the first in these loops.
        end: the id of the barrier that it comes before, if one follows in these loops.
    """

    ids: frozenset[str]
    outer: frozenset[str]
    start: str | None
    end: str | None


def with_boundaries(kernel: Kernel) -> tuple[Kernel, tuple[LaunchPart, ...]]:
    """Return the kernel with a barrier of the whole grid between any two launches.

    What a launch executes depends on the barrier before it, and the barrier after it depends on
    that: so the launches stay what they are, whatever is added to them.

    Returns:
        The kernel, and its launches in the order in which they first begin.
    """
    _, tree, origins = kernel.launches
    parts = {p: call for call, several in parts_of_calls(kernel).items() for p in several}
    walk = _Walk(kernel, {**parts, **{o: parts.get(i, i) for o, i in origins.items()}})
    walk.block(tree, frozenset())
    return walk.kernel(), tuple(walk.launches)


@dataclass
class _Walk:
    """Goes through a loop tree, and notes what comes before and after each barrier."""

    old: Kernel
    origins: dict[str, str]
    launches: list[LaunchPart] = field(default_factory=list[LaunchPart])
    before: dict[str, set[str]] = field(default_factory=new_dict)  # by barrier
    after: dict[str, set[str]] = field(default_factory=new_dict)  # by instruction
    around: dict[str, frozenset[str]] = field(default_factory=new_dict)

    def block(
        self,
        nodes: Sequence[TreeNode],
        outer: frozenset[str],
        later: frozenset[str] = NO_NAMES,
    ) -> None:
        """Note the launches among siblings, which are in loops on the host.

        An instruction with reductions may be carried out in several.  It belongs to the last one,
        in which its own value is computed: what reductions result in is kept until then anyway.

        Parameters:
            nodes: the siblings.
            outer: the inames of the loops.
            later: the instructions that belong to a launch after these.
        """
        pieces = list(_pieces(nodes))
        own = [self._ids_of(piece) for piece in pieces]
        start: str | None = None
        for at, piece in enumerate(pieces):
            if isinstance(piece, BarrierNode):
                start = piece.insn_id or start
                continue
            following = pieces[at + 1] if at + 1 < len(pieces) else None
            end = None
            if isinstance(following, BarrierNode):
                end = following.insn_id or self._new(outer)
            elif following is not None:
                end = self._new(outer)
            gone = later.union(*own[at + 1 :])
            ids = own[at] - gone
            self._note(ids, start, end)
            if isinstance(piece, LoopNode):
                self.block(piece.children, outer | {piece.iname}, gone)
            else:
                self.launches.append(LaunchPart(ids, outer, start, end))
            start = end

    def _new(self, outer: frozenset[str]) -> str:
        name = self.old.new_name("launch_end", self.around)
        self.around[name] = outer
        return name

    def _ids_of(self, piece: TreeNode | tuple[TreeNode, ...]) -> frozenset[str]:
        nodes = piece if isinstance(piece, tuple) else (piece,)
        return frozenset([self.origins.get(i.id, i.id) for i in statements(nodes)])

    def _note(self, ids: Iterable[str], start: str | None, end: str | None) -> None:
        if end is not None:
            self.before.setdefault(end, set()).update(ids, () if start is None else (start,))
        if start is not None:
            for insn_id in ids:
                self.after.setdefault(insn_id, set()).add(start)

    def kernel(self) -> Kernel:
        """Return the kernel with the barriers, and with what depends on them."""

        def ordered(insn: Instruction) -> Instruction:
            more = self.after.get(insn.id, set()) | self.before.get(insn.id, set())
            return insn.copy(depends_on=insn.depends_on | more)

        barriers = [
            Barrier(name, AddressSpace.GLOBAL, outer, frozenset(self.before[name]))
            for name, outer in self.around.items()
        ]
        kept = [ordered(insn) for insn in self.old.instructions]
        return self.old.copy(instructions=(*kept, *barriers))


def _pieces(nodes: Sequence[TreeNode]) -> Iterable[TreeNode | tuple[TreeNode, ...]]:
    """Yield barriers of the whole grid, loops around such, and what is between them.

    A call of a library is a launch of its own.
    """
    launch: list[TreeNode] = []
    for node in nodes:
        if not _ends_launch(node):
            launch.append(node)
            continue
        if launch:
            yield tuple(launch)
            launch = []
        yield (node,) if isinstance(node, LibraryCall) else node
    if launch:
        yield tuple(launch)


def _ends_launch(node: TreeNode) -> bool:
    if isinstance(node, LoopNode):
        return any(map(_ends_launch, node.children))
    return (isinstance(node, BarrierNode) and node.everyone) or isinstance(node, LibraryCall)


def lost_temporaries(kernel: Kernel) -> tuple[str, ...]:
    """Return the private and local temporaries that would have to live longer than a launch."""
    plain, tree, _ = kernel.launches
    launches = list(_launches(plain, tree, NO_NAMES))
    found: list[str] = []
    for temporary in kernel.temporaries:
        name = temporary.name
        homes = [outer for names, outer in launches if name in names]
        if plain.address_space(name) is AddressSpace.GLOBAL or not homes:
            continue
        loops = homes[0]
        carried = apart(plain, name, loops) != loops or not passes_nothing(plain, name, loops)
        if len(homes) > 1 or carried:
            found.append(name)
    return tuple(found)


def _launches(
    plain: Kernel, nodes: Sequence[TreeNode], outer: frozenset[str]
) -> Iterable[tuple[frozenset[str], frozenset[str]]]:
    """Yield what each launch touches, and the inames of the loops on the host around it."""
    for piece in _pieces(nodes):
        if isinstance(piece, LoopNode):
            yield from _launches(plain, piece.children, outer | {piece.iname})
        elif isinstance(piece, tuple):
            touched = (all_reads(plain, i).union(i.written_names) for i in statements(piece))
            yield NO_NAMES.union(*touched), outer


def users_in(kernel: Kernel, name: str, part: LaunchPart) -> tuple[Instruction, ...]:
    """Return the instructions of a launch that touch a variable."""
    return tuple(
        [
            i
            for i in kernel.instructions
            if i.id in part.ids and (name in all_reads(kernel, i) or name in i.written_names)
        ]
    )
