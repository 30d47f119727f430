"""What kernels that are ordered later get as soon as they can: judgement, loop orders, tags."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from polygen.analysis.integers.proving import proofs_are_on
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.ir.later import Later
from polygen.ir.verify import clash, verify
from polygen.language.kernel_assembly import judged
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged

Prove: TypeAlias = Callable[[str, Kernel, Rearranged], Rearranged]


def completed(kernel: Kernel, prove: Prove) -> Kernel:
    """Return a kernel with all that it was to get later and can get now; itself if that is nothing.

    Parameters:
        kernel: what a step made.
        prove: proves a step: by its name, the kernel before it, and its result.

    Raises:
        UserError: if what it was to get would change what it computes.
    """
    if kernel.later is None or kernel.later == Later():
        return kernel
    if kernel.later.open:
        kernel = _judged(kernel, prove)
    for names in kernel.later.priorities if kernel.later else ():
        if kernel.home_domains.keys() >= {*names}:
            new = with_priority(_without(kernel, names), names)
            kernel = _proved("prioritize_loops", kernel, new, prove)
    waiting = () if kernel.later is None or is_open(kernel) else kernel.later.tags
    for iname, tag in waiting:
        tags = {**kernel.tags, iname: tag}
        if iname in kernel.home_domains and clash(kernel, tags) is None:
            new = _without(kernel, (iname, tag)).copy(tags=tags)
            kernel = _proved("tag_inames", kernel, new, prove)
    return kernel


def is_open(kernel: Kernel) -> bool:
    """Tell whether no proof can rest on the result of a kernel."""
    return kernel.later is not None and bool(kernel.later.open) and proofs_are_on()


def with_facts(old: Kernel, new: Kernel, again: Callable[[Kernel], Kernel] | None) -> Kernel:
    """Return what a step made of an open kernel, with that kernel as facts alone would make it.

    Parameters:
        old: the kernel before the step.
        new: the kernel after it.
        again: takes the step, if it states a fact; else None.
    """
    if not is_open(old) or old.later is None or new.later is None:
        return new
    facts = old.later.facts
    if again is None:
        facts = old if facts is None else facts
    elif facts is not None:
        with suppress(UserError):  # about what another step made: then that one is refused below
            facts = again(facts)
    return new.copy(later=replace(new.later, facts=facts))


def _judged(kernel: Kernel, prove: Prove) -> Kernel:
    """Return a kernel that was open, judged anew.

    If facts alone would have determined its result, what other steps did is proved to keep it.
    """
    facts: Kernel | None = None if kernel.later is None else kernel.later.facts
    found = judged(kernel)
    if is_open(found) or facts is None or is_open(facts) or not proofs_are_on():
        return found
    names = [step.name for step in kernel.history if step not in facts.history]
    return prove(names[0] if names else "a step", facts, Rearranged(found)).kernel


def _without(kernel: Kernel, wish: object) -> Kernel:
    """Return a kernel that is not to get a priority, or a tag, later."""
    assert kernel.later is not None
    return kernel.copy(
        later=replace(
            kernel.later,
            priorities=tuple([names for names in kernel.later.priorities if names != wish]),
            tags=tuple([pair for pair in kernel.later.tags if pair != wish]),
        )
    )


def _proved(name: str, old: Kernel, new: Kernel, prove: Prove) -> Kernel:
    """Return a kernel that got one of these: proved, or judged if the one before was open.

    Parameters:
        name: the step's.
        old: the kernel before.
        new: the kernel after.
        prove: as for `completed`.
    """
    verify(new, old)
    if is_open(old):
        return _judged(new, prove)
    return prove(name, old, Rearranged(new)).kernel if proofs_are_on() else new
