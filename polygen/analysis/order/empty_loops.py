"""Inames that no instruction is in: their loops are not there, and what was meant runs once."""

from __future__ import annotations

from polygen.errors import UnusedIname
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.ir.told import is_news
from polygen.source import warn


def used_inames(kernel: Kernel) -> frozenset[str]:
    """Return the inames of instructions, and those of reductions, in rules that wait, too."""
    insns = (*kernel.instructions, *kernel.expanded.instructions)
    used = {i for insn in insns for i in insn.within_inames | insn.reduction_inames}
    return frozenset(used).union(
        *(walk.reduction_inames(rule.expression) for rule in kernel.substitutions)
    )


def warn_of_unused_inames(kernel: Kernel) -> None:
    """Warn, once a kernel, of inames that were written, and that nothing was ever in.

    Not of those that steps left, or that say something of other inames in their domain, or of
    where a part of an array begins.  Functions that it calls are kernels of their own.
    """
    for callee in dict.fromkeys(call.callee for call in kernel.calls):
        if callee is not None:
            warn_of_unused_inames(callee)
    _warn(kernel)


def _warn(kernel: Kernel) -> None:
    used = used_inames(kernel)
    idle = [i for domain in kernel.domains if used.isdisjoint(domain.inames) for i in domain.inames]
    if not idle or UnusedIname.__name__ in kernel.options.silenced_warnings:
        return
    written = kernel.original or kernel
    axes = {name for call in written.calls for name in call.axis_names}
    idle = [i for i in idle if i in written.home_domains and not axes & {i, f"_{i}"}]
    idle = [i for i in idle if i not in used_inames(written)]
    if idle and is_news(kernel, UnusedIname):
        names, is_one = ", ".join(f"'{i}'" for i in idle), len(idle) == 1
        warn(
            UnusedIname(
                f"kernel '{kernel.name}': no instruction is in the loop{'' if is_one else 's'} of "
                f"{names}, so that what was meant to be repeated runs once (for it to be in the "
                f"loop, say {{inames=+{idle[0]}}} at the instruction, or 'for {idle[0]}' around "
                "it; remove_unused_inames leaves out what is not needed)"
            )
        )
