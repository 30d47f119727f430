"""What kernels that are ordered later get as soon as they can: judgement, loop orders, tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from polygen.analysis.integers.proving import proofs_are_on
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
        kernel = judged(kernel)
    for names in kernel.later.priorities if kernel.later else ():
        if kernel.home_domains.keys() >= {*names}:
            new = with_priority(_without(kernel, names), names)
            kernel = _proved("prioritize_loops", kernel, new, prove)
    for iname, tag in kernel.later.tags if kernel.later else ():
        tags = {**kernel.tags, iname: tag}
        if iname in kernel.home_domains and clash(kernel, tags) is None:
            new = _without(kernel, (iname, tag)).copy(tags=tags)
            kernel = _proved("tag_inames", kernel, new, prove)
    return kernel


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
    if old.later is not None and old.later.open:
        return judged(new)
    return prove(name, old, Rearranged(new)).kernel if proofs_are_on() else new
