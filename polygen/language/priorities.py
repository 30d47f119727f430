"""Which loops are asked to be outside of which."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.source import caller_location


def with_priority(kernel: Kernel, names: tuple[str, ...]) -> Kernel:
    """Return the kernel with one more priority; itself if it has it.

    Parameters:
        kernel: the kernel.
        names: inames, outermost first.

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if an iname is named twice, or if this contradicts earlier priorities.
    """
    for name in names:
        kernel.check_iname(name)
    if len(set(names)) < len(names):
        raise InvalidArgument(
            f"the priority {', '.join(names)} names an iname twice", where=caller_location()
        )
    if names in kernel.priorities:
        return kernel
    for earlier in kernel.priorities:
        common = [name for name in names if name in earlier]
        if common != sorted(common, key=earlier.index):
            raise InvalidArgument(
                f"the priority {', '.join(names)} contradicts the earlier one, "
                f"{', '.join(earlier)}",
                where=caller_location(),
                remedy="ask for one nesting",
            )
    found = circle((*kernel.priorities, names))
    if found:
        raise InvalidArgument(
            f"the priority {', '.join(names)} contradicts the earlier ones, which "
            f"together put the loops in a circle: {', '.join(found)}",
            where=caller_location(),
            remedy="ask for one nesting",
        )
    return kernel.copy(priorities=(*kernel.priorities, names))


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


def read_priorities(loop_priority: object) -> tuple[tuple[str, ...], ...]:
    """Return the priorities that ``"i, j"``, or a sequence of such texts, stands for.

    Raises:
        InvalidArgument: if it is something else, or a text that names one loop only.
    """
    given: Any = (loop_priority,) if isinstance(loop_priority, str) else loop_priority
    texts: list[object] = list(given) if isinstance(given, Iterable) else [given]
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
