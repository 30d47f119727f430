"""Address spaces for temporaries declared ``auto``: what is needed in several launches is global.

Private and local variables do not live longer than a launch.  One that is declared ``auto``, and
that no work item needs to share, is global nevertheless if its value is needed on both sides of a
point where the whole grid waits: unless work items would then write one element in no order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, assignments, loop_tree
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.analysis.wellformed.check import obligations
from polygen.errors import UninitializedRead, UnorderedAccess
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.lower.automatic import assign_axes
from polygen.lower.barriers import place_barriers
from polygen.lower.launches import host_parts
from polygen.lower.lifetimes import carries
from polygen.lower.placeholder_types import with_some_types
from polygen.lower.reductions import realize_reductions, realized_with_origins
from polygen.lower.shared_reductions import with_shared_reductions
from polygen.lower.shared_scans import with_shared_scans


def chosen_spaces(kernel: Kernel) -> Mapping[str, AddressSpace]:
    """Return the address space of each temporary in the code that is generated.

    Raises:
        UserError: as `lower` does, if a temporary is declared ``auto`` and there is no such code.
    """
    kernel = kernel.expanded
    plain = kernel
    if names := declared_auto(kernel):
        plain = with_global(with_some_types(assign_axes(with_spaces(kernel))), names)
    return {t.name: plain.address_space(t.name) for t in kernel.temporaries}


def declared_auto(kernel: Kernel) -> frozenset[str]:
    """Return the names of the temporaries that are declared ``auto``."""
    return frozenset(t.name for t in kernel.temporaries if t.address_space is AddressSpace.AUTO)


def with_global(kernel: Kernel, names: frozenset[str]) -> Kernel:
    """Return the kernel with some temporaries global: those that are needed in several launches.

    Parameters:
        kernel: with types, an axis for each iname on one, and an address space for each temporary.
        names: the temporaries that were declared ``auto``.
    """
    while names:
        lost = names.intersection(_lost(kernel))
        new = kernel.copy(
            temporaries=tuple(
                [
                    t.in_space(AddressSpace.GLOBAL if t.name in lost else t.address_space)
                    for t in kernel.temporaries
                ]
            )
        )
        if not lost or not _is_as_sound(new, kernel):
            break
        kernel, names = new, names - lost
    return kernel


def _is_as_sound(new: Kernel, old: Kernel) -> bool:
    """Tell whether sharing variables leaves no more open than there was."""
    try:
        return set(obligations(new)) <= set(obligations(old))
    except (UnorderedAccess, UninitializedRead):
        return False


def _lost(kernel: Kernel) -> Iterator[str]:
    """Yield the private and local temporaries that would have to live longer than a launch."""
    plain = realize_reductions(kernel, quiet=True)
    tree = place_barriers(plain, loop_tree(plain, quiet=True))
    if not any(_waits(node) for node in tree):
        return
    homes = list(_homes(plain, tree, frozenset()))
    for temporary in kernel.temporaries:
        name = temporary.name
        loops = [around for names, around in homes if name in names]
        if kernel.address_space(name) is AddressSpace.GLOBAL or not loops:
            continue
        if len(loops) > 1 or (loops[0] and carries(plain, name, loops[0])):
            yield name


def _waits(node: TreeNode) -> bool:
    """Tell whether the whole grid waits at a node, or inside of it."""
    if isinstance(node, LoopNode):
        return any(map(_waits, node.children))
    return (isinstance(node, BarrierNode) and node.everyone) or isinstance(node, LibraryCall)


def _homes(
    kernel: Kernel, nodes: Sequence[TreeNode], outer: frozenset[str]
) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield what each launch mentions, and the loops around it."""
    for part in host_parts(nodes):
        if isinstance(part, LoopNode):
            yield from _homes(kernel, part.children, outer | {part.iname})
        else:
            insns = list(assignments(part))
            touched = (all_reads(kernel, i).union(i.written_names) for i in insns)
            yield NO_NAMES.union(*touched), outer


def in_launches(kernel: Kernel) -> tuple[Kernel, tuple[TreeNode, ...], Mapping[str, str]]:
    """Return what `Kernel.launches` does, of a kernel without rules and calls."""
    plain, homes, carried = _shared(with_some_types(assign_axes(with_spaces(kernel))))
    if names := declared_auto(kernel) | carried:
        plain = with_global(plain, names)
    plain, made = realized_with_origins(plain)
    origins = {**homes, **{new: homes.get(old, old) for new, old in made.items()}}
    return plain, place_barriers(plain, loop_tree(plain, quiet=True)), origins


def _shared(kernel: Kernel) -> tuple[Kernel, dict[str, str], frozenset[str]]:
    """Return the kernel with what work items share as instructions on local memory.

    And the instructions that new ones were made for, and what takes results on in scans.
    """
    origins: dict[str, str] = {}
    carried: set[str] = set()

    def note(new: Kernel, origin: str) -> Kernel:
        made = {i.id for i in new.instructions} - {i.id for i in kernel.instructions}
        origins.update(dict.fromkeys(made - origins.keys(), origin))
        return new

    plain = kernel
    for insn in kernel.instructions:
        plain, names = with_shared_scans(plain, (insn.id,))
        carried |= names
        plain = note(plain, insn.id)
    for insn in plain.instructions:
        plain = note(with_shared_reductions(plain, (insn.id,)), origins.get(insn.id, insn.id))
    return plain, origins, frozenset(carried)
