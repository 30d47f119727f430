"""Decides which two loops can be one, whatever values they compute."""

from __future__ import annotations

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.rearrangement.same_instances import iname_groups
from polygen.errors import DomainsDiffer, LoopsOfOneInstruction, TagConflict
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location


def check_two_loops(kernel: Kernel, old: str, new: str) -> None:
    """Check that the loops of two inames are beside each other, and are of one kind.

    Raises:
        TagConflict: if they are tagged differently.
        LoopsOfOneInstruction: if an instruction is within both.
        DomainsDiffer: if one has to be inside the other.
    """
    first, second = (kernel.tags.get(i, ForTag()) for i in (old, new))
    if first != second:
        raise TagConflict(
            f"'{old}' cannot be fused with '{new}': they are tagged {first} and {second}",
            where=caller_location(),
            remedy="fuse first, then tag",
        )
    for insn in kernel.expanded.instructions:
        if any(old in group and new in group for group in iname_groups(insn)):
            raise LoopsOfOneInstruction(
                f"'{old}' cannot be fused with '{new}': instruction '{insn.id}' is executed for "
                "each pair of their values",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy="fuse loops of different instructions",
            )
    if old in surrounding_inames(kernel, new) or new in surrounding_inames(kernel, old):
        raise differ(kernel, old, new, "the bounds of one need the other")


def differ(kernel: Kernel, old: str, new: str, why: str) -> DomainsDiffer:
    """Return the error that says why two inames do not have the same values."""
    homes = dict.fromkeys(kernel.home_domains[i].text for i in (old, new))
    return DomainsDiffer(
        f"'{old}' cannot be fused with '{new}': they do not have the same values: {why}",
        where=caller_location(),
        excerpt="\n".join(homes),
        remedy=f"if they are the same for the sizes that occur, say so first (assume); or shift "
        f"'{old}' (map_domain)",
    )
