"""Reads requested loop orders from priorities."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, cast

from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.source import caller_location


def with_priority(kernel: Kernel, names: tuple[str, ...]) -> Kernel:
    """Return the kernel with one more priority; itself if that changes nothing.

    In earlier priorities, the loops that are named here change places to agree.

    Parameters:
        kernel: the kernel.
        names: inames, outermost first.

    Raises:
        UnknownIname: if the kernel has no such iname, unless it may get it later.
        InvalidArgument: if an iname is named twice, or if the priorities put loops in a circle.
    """
    if kernel.later is not None and not kernel.home_domains.keys() >= {*names}:
        return kernel.copy(later=kernel.later.with_priority(names))
    for name in names:
        kernel.check_iname(name)
    if len(set(names)) < len(names):
        raise InvalidArgument(
            f"the priority {', '.join(names)} names an iname twice", where=caller_location()
        )
    earlier = [_reordered(priority, names) for priority in kernel.priorities]
    priorities = tuple(dict.fromkeys((*earlier, names)))
    if circle(_linked(priorities, names)):
        priorities = tuple(dict.fromkeys((*_of_shared_loops(kernel, earlier), names)))
    found = circle(_linked(priorities, names))
    if found:
        raise InvalidArgument(
            f"the priority {', '.join(names)} contradicts other ones: together they put loops in "
            f"a circle: {', '.join(found)}",
            where=caller_location(),
            remedy="ask for one nesting",
        )
    return kernel.copy(priorities=priorities)


def _reordered(priority: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return a priority with the loops that are in `names`, too, in that order."""
    if not any(name in names for name in priority):
        return priority
    wanted = iter([name for name in names if name in priority])
    return tuple([next(wanted) if name in names else name for name in priority])


def _linked(
    priorities: Sequence[tuple[str, ...]], names: tuple[str, ...]
) -> Sequence[tuple[str, ...]]:
    """Return the priorities that some loops are in, or others that share loops with these."""
    inames, found = frozenset(names), list[tuple[str, ...]]()
    while True:
        known = len(found)
        found = [priority for priority in priorities if not inames.isdisjoint(priority)]
        if len(found) == known:
            return found
        inames = inames.union(*found)


def _of_shared_loops(
    kernel: Kernel, priorities: Iterable[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """Yield what priorities say of loops that an instruction is in together.

    Copies of loops (`duplicate_inames`) have the priorities of these, also over loops that are
    never nested with them: there they say nothing, but may put others in a circle.
    """
    nests = [i.within_inames | i.reduction_inames for i in kernel.expanded.instructions]
    for names in priorities:
        for pair in combinations(names, 2):
            if any(nest.issuperset(pair) for nest in nests):
                yield pair


def circle(priorities: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return loops each of which priorities put outside of the next, the last one being the first.

    None, if the priorities agree.
    """
    graph = graphlib.TopologicalSorter[str]()
    for outer, inner in (pair for names in priorities for pair in pairwise(names)):
        graph.add(inner, outer)
    try:
        graph.prepare()
    except graphlib.CycleError as error:
        return tuple(error.args[1])
    return ()


def with_priorities(kernel: Kernel, priorities: Sequence[tuple[str, ...]]) -> Kernel:
    """Return the kernel with priorities, each of which has inames, outermost first.

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if one names an iname twice, or if they contradict each other.
    """
    for names in priorities:
        before = kernel.priorities
        kernel = with_priority(kernel, names)
        if kernel.priorities[: len(before)] != before:
            raise InvalidArgument(
                f"the priority {', '.join(names)} contradicts what stands before it",
                where=caller_location(),
                remedy="ask for one nesting",
            )
    return kernel


def read_priorities(loop_priority: object) -> tuple[tuple[str, ...], ...]:
    """Return the priorities that ``"i, j"``, or a list of such texts, stands for; None for none.

    Raises:
        InvalidArgument: if it is something else, or a text names one loop only.
    """
    if loop_priority is None:
        return ()
    given: Any = (loop_priority,) if isinstance(loop_priority, str) else loop_priority
    several = isinstance(given, Iterable)
    texts = list(cast("Iterable[object]", given)) if several else [given]
    found: list[tuple[str, ...]] = []
    for text in texts:
        names = tuple([n.strip() for n in text.split(",")]) if isinstance(text, str) else ()
        if len(names) < 2:
            raise InvalidArgument(
                f"loop_priority={loop_priority!r} is no priority of loops",
                where=caller_location(),
                remedy="name at least two inames, outermost first, in one text: 'i, j'; or pass a "
                "list of such texts",
            )
        found.append(names)
    return tuple(found)
