"""Decides whether instructions can share loops; if not, says why, and what to duplicate.

All of this is about which instruction is in which loops, and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import TypeAlias

from polygen.ir.empty import NO_NAMES

# For each instruction, by its id, the loops that it is in.
Loops: TypeAlias = Mapping[str, frozenset[str]]


def parts(loops: Loops) -> list[Loops]:
    """Return the instructions in groups: those that share a loop, directly or through others."""
    groups: list[tuple[set[str], dict[str, frozenset[str]]]] = []
    for insn_id, inames in loops.items():
        names, members = set(inames), {insn_id: inames}
        for other in [g for g in groups if g[0] & inames]:
            groups.remove(other)
            names |= other[0]
            members = other[1] | members
        groups.append((names, members))
    return [members for _, members in groups]


def is_nestable(loops: Loops) -> bool:
    """Tell whether some nest has one loop an iname."""
    for part in parts(loops):
        first, *others = part.values()
        common = first.intersection(*others)
        rest = {insn_id: inames - common for insn_id, inames in part.items() if inames - common}
        if rest and (not common or not is_nestable(rest)):
            return False
    return True


def why_not_nestable(loops: Loops) -> str:
    """Return in words why no loop can be around all of these instructions.

    Parameters:
        loops: connected; no loop has all of them.
    """
    names = sorted(NO_NAMES.union(*loops.values()))
    users = {i: [insn_id for insn_id in loops if i in loops[insn_id]] for i in names}
    circle = _circle(loops, users)
    if circle:
        ends = [*circle, circle[0]]
        links = [f"{_shared(a, b, loops)} is in {{{a}, {b}}}" for a, b in pairwise(ends)]
        return f"the loops form a circle, {' - '.join(ends)}: {', '.join(links)}"
    for a, b in combinations(names, 2):
        both, only_a, only_b = (
            next((n for n in loops if (a in loops[n], b in loops[n]) == wanted), None)
            for wanted in ((True, True), (True, False), (False, True))
        )
        if both and only_a and only_b:
            return (
                f"'{both}' is in both {{{a}, {b}}}, '{only_a}' in '{a}' and not in '{b}', and "
                f"'{only_b}' in '{b}' and not in '{a}', so that neither loop can be outside"
            )
    raise AssertionError("instructions that share no loop are not connected")


def _shared(a: str, b: str, loops: Loops) -> str:
    return next(f"'{n}'" for n, inames in loops.items() if a in inames and b in inames)


def _circle(loops: Loops, users: Mapping[str, list[str]]) -> list[str]:
    """Return a shortest circle of three inames or more, neighbours of which share an instruction.

    No instruction is in more than two of them.
    """
    best: list[str] = []
    for start in users:
        for path in _paths(start, loops, users):
            if not best or len(path) < len(best):
                best = path
    return best


def _paths(start: str, loops: Loops, users: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Yield the shortest circle through an iname, if a thousand steps find one."""
    pending = deque([[start]])
    for _ in range(1000):
        if not pending:
            return
        path = pending.popleft()
        near = {i for n in users[path[-1]] for i in loops[n]} - {path[-1]}
        if len(path) > 2 and start in near and _is_sparse(path, loops):
            yield path
            return
        pending += [[*path, i] for i in sorted(near - {*path}) if i > start]


def _is_sparse(path: list[str], loops: Loops) -> bool:
    return all(len(inames.intersection(path)) <= 2 for inames in loops.values())


_Duplication: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # inames, instructions


def duplications(loops: Loops) -> Iterator[_Duplication]:
    """Yield inames, each with the instructions that get ones of their own, so that a nest exists.

    One iname if that is enough; else several of few instructions.
    """
    names = sorted(NO_NAMES.union(*loops.values()))
    one = [c for c in dict.fromkeys(_of_one(loops, names)) if is_nestable(_after(loops, *c))]
    yield from one or _of_several(loops, names)


def _of_one(loops: Loops, names: list[str]) -> Iterator[_Duplication]:
    """Yield proper parts of the users of each iname, told apart by another iname."""
    for iname in names:
        users = [n for n in loops if iname in loops[n]]
        for other in names:
            inside = tuple([n for n in users if other in loops[n]])
            outside = tuple([n for n in users if other not in loops[n]])
            if other != iname and inside and outside:
                yield from (((iname,), part) for part in sorted((inside, outside), key=len))


def _of_several(loops: Loops, names: list[str]) -> Iterator[_Duplication]:
    """Yield as few instructions, and of these as few inames, as are enough, up to three."""
    for count in range(1, 4):
        found: list[_Duplication] = []
        for insn_ids in combinations(loops, count):
            own = [i for i in names if any(i in loops[n] for n in insn_ids)]
            for size in range(2, len(own) + 1):
                enough = [
                    (inames, insn_ids)
                    for inames in combinations(own, size)
                    if is_nestable(_after(loops, inames, insn_ids))
                ]
                if enough:
                    found += enough
                    break
        if found:
            yield from found
            return


def _after(loops: Loops, inames: tuple[str, ...], insn_ids: tuple[str, ...]) -> Loops:
    """Return the loops where these instructions have inames of their own."""
    own = {i: f"{i} of their own" for i in inames}
    return {
        n: frozenset(own.get(i, i) for i in around) if n in insn_ids else around
        for n, around in loops.items()
    }


def as_arguments(found: _Duplication) -> tuple[str, str]:
    """Return the arguments ``inames, within`` of `duplicate_inames`."""
    inames, insn_ids = found
    return ", ".join(inames), " or ".join(f"id:{insn_id}" for insn_id in insn_ids)


def way_out(loops: Loops) -> str:
    """Return what lets a nest exist, for an error."""
    found = next(duplications(loops), None)
    if found is None:
        return "write dup= at some of them"
    option = f"{{dup={':'.join(found[0])}}}"
    inames, within = as_arguments(found)
    return (
        f"write {option} at {' and '.join(found[1])}; or make the kernel without_proofs(), and "
        f"then duplicate_inames(knl, '{inames}', within='{within}')"
    )
