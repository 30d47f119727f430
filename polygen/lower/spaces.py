"""Address spaces for temporaries declared ``auto``: what is needed in several launches is global.

Private and local variables do not live longer than a launch.  One that is declared ``auto``, and
that no work item needs to share, is global nevertheless if its value is needed on both sides of a
point where the whole grid waits: unless work items would then write one element in no order.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.expansion.inlining import as_units, inlined
from polygen.analysis.order.loop_tree import TreeNode
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.lower.across_launches import placed, with_values_kept
from polygen.lower.automatic import assign_axes
from polygen.lower.placeholder_types import with_some_types
from polygen.lower.shared_reductions import with_shared_reductions
from polygen.lower.shared_scans import with_shared_scans


def chosen_spaces(kernel: Kernel) -> Mapping[str, AddressSpace]:
    """Return the address space of each temporary in the code that is generated.

    Raises:
        UserError: as `lower` does, if a temporary is declared ``auto`` and there is no such code.
    """
    kernel = kernel.expanded
    names = declared_auto(kernel)
    if not names:
        return {t.name: t.address_space for t in kernel.temporaries}
    plain, _ = _kept(with_some_types(assign_axes(with_spaces(kernel))), names)
    return {t.name: plain.address_space(t.name) for t in kernel.temporaries}


def with_chosen_spaces(kernel: Kernel) -> Kernel:
    """Return the kernel with each temporary where it is in the code that is generated.

    What is kept from one launch to the next has the axes that it has there, and instructions of
    its own, but for what work items share.

    Parameters:
        kernel: with types, and without rules and calls.
    """
    plain, names = assign_axes(with_spaces(kernel)), declared_auto(kernel)
    if _shared(plain)[0] is plain:
        return with_values_kept(plain, names).kernel
    kept, _ = _kept(plain, names)
    spaces = {t.name: kept.address_space(t.name) for t in kernel.temporaries}
    return plain.copy(temporaries=tuple([t.in_space(spaces[t.name]) for t in plain.temporaries]))


def declared_auto(kernel: Kernel) -> frozenset[str]:
    """Return the names of the temporaries that are declared ``auto``."""
    return frozenset(t.name for t in kernel.temporaries if t.address_space is AddressSpace.AUTO)


def in_launches(kernel: Kernel) -> tuple[Kernel, tuple[TreeNode, ...], Mapping[str, str]]:
    """Return what `Kernel.launches` does."""
    kernel = _with_calls_of_libraries(kernel.without_rules)
    kept, homes = _kept(with_some_types(assign_axes(with_spaces(kernel))), declared_auto(kernel))
    plain, made, tree = placed(kept)
    origins = {**homes, **{new: homes.get(old, old) for new, old in made.items()}}
    return plain, tree, origins


def _with_calls_of_libraries(kernel: Kernel) -> Kernel:
    """Return an expanded kernel in which calls of libraries stand: launches end there."""
    if not any(isinstance(insn, LibraryCall) for insn in kernel.instructions):
        return kernel.expanded
    others = {i.function for i in kernel.calls if not isinstance(i, LibraryCall)}
    return as_units(inlined(kernel, others) if others else kernel)


def _kept(kernel: Kernel, names: frozenset[str]) -> tuple[Kernel, dict[str, str]]:
    """Return the kernel with what is lowered to loops, and the instructions that new ones are for.

    Parameters:
        kernel: with types, an axis for each iname on one, and an address space for each temporary.
        names: the temporaries that were declared ``auto``.
    """
    plain, homes, carried = _shared(kernel)
    kept = with_values_kept(plain, names | carried)
    return kept.kernel, homes | {new: homes.get(old, old) for new, old in kept.origins.items()}


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
