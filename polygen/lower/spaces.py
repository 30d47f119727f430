"""Address spaces for temporaries declared ``auto``: what is needed in several launches is global.

Private and local variables do not live longer than a launch.  One that is declared ``auto``, and
that no work item needs to share, is global nevertheless if its value is needed on both sides of a
point where the whole grid waits: unless work items would then write one element in no order.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.order.loop_tree import TreeNode
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
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
    plain = kernel
    if names := declared_auto(kernel):
        plain = with_values_kept(with_some_types(assign_axes(with_spaces(kernel))), names).kernel
    return {t.name: plain.address_space(t.name) for t in kernel.temporaries}


def declared_auto(kernel: Kernel) -> frozenset[str]:
    """Return the names of the temporaries that are declared ``auto``."""
    return frozenset(t.name for t in kernel.temporaries if t.address_space is AddressSpace.AUTO)


def in_launches(kernel: Kernel) -> tuple[Kernel, tuple[TreeNode, ...], Mapping[str, str]]:
    """Return what `Kernel.launches` does, of a kernel without rules and calls."""
    plain, homes, carried = _shared(with_some_types(assign_axes(with_spaces(kernel))))
    kept = with_values_kept(plain, declared_auto(kernel) | carried)
    homes |= {new: homes.get(old, old) for new, old in kept.origins.items()}
    plain, made, tree = placed(kept.kernel)
    origins = {**homes, **{new: homes.get(old, old) for new, old in made.items()}}
    return plain, tree, origins


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
