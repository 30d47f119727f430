"""Priorities that the structure of a kernel does not allow, and what is in their way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.order.loop_tree import loops_outside
from polygen.errors import PriorityIgnored
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.told import is_news
from polygen.source import warn


@per_kernel
def ignored_priorities(kernel: Kernel) -> Mapping[tuple[str, str], None]:
    """Return pairs of loops of which the first is to be outside, and the second has to be."""
    pairs = [pair for names in kernel.priorities for pair in combinations(names, 2)]
    if not pairs:
        return {}
    outside = loops_outside(kernel)
    return dict.fromkeys([(a, b) for a, b in pairs if a in outside and b in outside[a]])


@per_kernel
def ignores_no_priority(kernel: Kernel) -> bool:
    """Tell whether all priorities of a kernel hold."""
    return not ignored_priorities(kernel)


def warn_of_ignored_priorities(kernel: Kernel, before: Kernel | None = None) -> None:
    """Warn of priorities that are ignored from now on.

    Parameters:
        kernel: what was made.
        before: what it was made of by a step; if priorities were ignored there, it was said then.
    """
    if not kernel.priorities or _is_silenced(kernel) or ignores_no_priority(kernel):
        return
    found = ignored_priorities(kernel)
    if found and before is not None and ignored_priorities(before):
        for pair in found:
            is_news(kernel, (PriorityIgnored, pair))
    tell_ignored(kernel, found)


def tell_ignored(kernel: Kernel, pairs: Iterable[tuple[str, str]]) -> None:
    """Warn of priorities that are ignored, once a kernel for each."""
    if _is_silenced(kernel):
        return
    for inner, outer in pairs:
        if not is_news(kernel, (PriorityIgnored, (inner, outer))):
            continue
        warn(
            PriorityIgnored(
                f"kernel '{kernel.name}': the priority of '{inner}' over '{outer}' is ignored: the "
                f"kernel's structure puts '{outer}' outside ({_why(kernel, inner, outer)})"
            )
        )


def _is_silenced(kernel: Kernel) -> bool:
    return PriorityIgnored.__name__ in kernel.options.silenced_warnings


def _why(kernel: Kernel, inner: str, outer: str) -> str:
    """Return what puts a loop outside of another."""
    if inner in kernel.home_domains and outer in surrounding_inames(kernel, inner):
        return f"the values of '{inner}' depend on '{outer}'"
    loops = {insn.id: insn.within_inames for insn in kernel.instructions}
    apart = [i for i, within in loops.items() if outer in within and inner not in within]
    if not apart:
        return "by way of other loops"
    return (
        f"'{apart[0]}' is in the loop of '{outer}' and not in that of '{inner}': "
        f"distribute_loop(kernel, '{outer}') gives it a loop of its own, where that is legal"
    )
