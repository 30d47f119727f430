"""Several parallel loops one after the other, or in loops of the host: one team of threads for all.

Between them the threads wait for each other, spinning: to sleep and be woken would take longer than
many a loop does.  So loops may be shorter that are worth it, in a loop of the host, or if they are
many: the team is woken once.  When the call returns, they sleep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polygen.ir import walk
from polygen.lower.neighbours import nodes_in
from polygen.lower.program import Block, HostLoop, HostNode, If, Launch, Loop
from polygen.targets.statements.threads import Threads


def loops_of_team(host: Sequence[HostNode], is_index: Callable[[str], bool]) -> list[Loop]:
    """Return the parallel loops of a program; none if one team is of no use.

    All threads have to take the same way through what is around these loops: so that may depend on
    sizes and counters only.
    """
    found = [*_parallel(host, is_index)]
    once = len(found) < 2 and not any(isinstance(node, HostLoop) for node in host)
    return (
        [] if not found or once or None in found else [loop for loop in found if loop is not None]
    )


def _parallel(host: Sequence[HostNode], is_index: Callable[[str], bool]) -> Iterator[Loop | None]:
    """Yield the loops; None for anything else that is done where there is one."""
    for node in host:
        if isinstance(node, HostLoop):
            names = walk.free_variables(node.lower) | walk.free_variables(node.upper)
            if node.runs is not None:  # one thread may change the flag before another asks it
                yield None
                continue
            yield from _parallel(node.body, is_index) if all(map(is_index, names)) else (None,)
        elif not is_serial(node):
            yield from _in_block(node.body, is_index)


def is_serial(launch: Launch) -> bool:
    """Tell whether nothing in a launch runs in parallel: one thread of the team executes it."""
    return not any(isinstance(node, Loop) and node.parallel for node in nodes_in(launch.body))


def _in_block(block: Block, is_index: Callable[[str], bool]) -> Iterator[Loop | None]:
    for node in block:
        if isinstance(node, If) and all(map(is_index, walk.free_variables(node.condition))):
            yield from _in_block(node.body, is_index)
        else:
            yield node if isinstance(node, Loop) and node.parallel else None


_SHORTER = 8


def condition_of_team(
    threads: Sequence[Threads], fewest: int, counters: frozenset[str]
) -> str | None:
    """Return when a team is worth it; nothing if always, None if never.

    Parameters:
        threads: what is known of each loop.
        fewest: see `Threads.condition`.
        counters: of the loops around them, which are not there yet.
    """
    fewest //= _SHORTER if counters else min(_SHORTER, max(1, len(threads) // 2))
    found = {each: each.condition(fewest) for each in threads}
    worth = [each for each, condition in found.items() if condition is not None]
    if not worth:
        return None
    if any(not found[each] or not counters.isdisjoint(each.mentioned(fewest)) for each in worth):
        return ""
    return " || ".join(dict.fromkeys(str(found[each]) for each in worth))


def counters_of(host: Sequence[HostNode]) -> frozenset[str]:
    """Return the counters of the loops on the host."""
    loops = [node for node in host if isinstance(node, HostLoop)]
    return frozenset(n.iname for n in loops).union(*(counters_of(n.body) for n in loops))
