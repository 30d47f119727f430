"""The parts of a kernel that a step changed: what else there is need not be looked at again.

Parts are compared by identity, for most steps hand most of them on: so it takes next to nothing,
however many instructions there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import TypeVar

from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel

_T = TypeVar("_T")


@dataclass(frozen=True)
class KernelChanges:
    """The differences of a kernel that a step made of another, with the same instructions by id.

    Attributes:
        instructions: the instructions that are others, as they were and as they are.
        inames: those with another domain or tag, or in another priority; new ones and those that
            are gone.
        gone: inames that there are no more.
        other_domains: whether domains are others.
    """

    instructions: Sequence[tuple[Instruction, Instruction]]
    inames: frozenset[str]
    gone: frozenset[str]
    other_domains: bool


def kernel_changes(old: Kernel, new: Kernel) -> KernelChanges | None:
    """Return the differences of two kernels; None if they have other ones than `KernelChanges` has.

    That is, if they have other variables, rules, assumptions or claims, or other instructions by
    id or in number.  Separations say how code is written: they are no difference.

    Parameters:
        old: a kernel.
        new: what a step made of it.
    """
    if any(getattr(old, name) is not getattr(new, name) for name in _KEPT):
        return None
    if old.options.allow_reassociation != new.options.allow_reassociation:
        return None
    if len(old.instructions) != len(new.instructions):
        return None
    insns: list[tuple[Instruction, Instruction]] = []
    if old.instructions is not new.instructions:
        both = zip(old.instructions, new.instructions, strict=True)
        insns = [pair for pair in both if is_not(*pair)]
        if any(before.id != after.id for before, after in insns):
            return None
    inames: set[str] = set()
    if old.domains is not new.domains:
        known = {id(domain) for domain in old.domains} & {id(domain) for domain in new.domains}
        others = [d for d in (*old.domains, *new.domains) if id(d) not in known]
        inames.update(*(domain.inames for domain in others))
    if old.priorities is not new.priorities:
        inames.update(*(set(old.priorities) ^ set(new.priorities)))
    inames |= _retagged(old.tags, new.tags)
    gone = [i for i in inames if i in old.home_domains and i not in new.home_domains]
    other_domains = old.domains is not new.domains
    return KernelChanges(insns, frozenset(inames), frozenset(gone), other_domains)


_KEPT = (
    "arguments",
    "temporaries",
    "derived_sizes",
    "substitutions",
    "assumptions",
    "claims",
)


def _retagged(old: Mapping[str, _T], new: Mapping[str, _T]) -> frozenset[str]:
    if old is new:
        return NO_NAMES
    other = [iname for iname, tag in new.items() if old.get(iname) is not tag]
    lost = () if len(old) + len(other) == len(new) else [i for i in old if i not in new]
    return frozenset((*other, *lost))
