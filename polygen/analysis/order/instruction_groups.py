"""Groups of instructions that are not to be interleaved with others.

An instruction that conflicts with a group comes before all of the group, or after all of it.  That
orders the code and nothing else: where neither is asked for, the result of a kernel is the same in
both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from polygen.analysis.order.dependency_relations import standing_before
from polygen.errors import UnusedGroup, did_you_mean
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.source import warn

# For each instruction, those that come before it.
Before: TypeAlias = Mapping[str, frozenset[str]]
_Conflict: TypeAlias = tuple[
    str, tuple[str, ...]
]  # an instruction, and a group that it is apart from


@per_kernel
def conflicts_with_groups(kernel: Kernel) -> tuple[_Conflict, ...]:
    """Return the instructions that conflict with groups, each with the instructions of one."""
    members: dict[str, list[str]] = {}
    for insn in kernel.instructions:
        for group in insn.groups:
            members.setdefault(group, []).append(insn.id)
    return tuple(
        [
            (insn.id, tuple(members[group]))
            for insn in kernel.instructions
            for group in sorted(insn.conflicts_with_groups)
            if len(members.get(group, ())) > 1
        ]
    )


def warn_of_unused_groups(kernel: Kernel) -> None:
    """Warn of groups that nothing conflicts with: instructions of them may be interleaved."""
    groups = NO_NAMES.union(*(i.groups for i in kernel.instructions if i.groups))
    if not groups or UnusedGroup.__name__ in kernel.options.silenced_warnings:
        return
    apart = NO_NAMES.union(*(insn.conflicts_with_groups for insn in kernel.instructions))
    for group in sorted(groups - apart):
        meant = did_you_mean(group, apart) if apart else ""
        warn(
            UnusedGroup(
                f"kernel '{kernel.name}': no instruction conflicts with the group '{group}', which "
                f"orders nothing then ({meant + '; ' if meant else ''}conflicts={group} keeps "
                "another instruction out of it)"
            )
        )


def orders_of_groups(kernel: Kernel) -> Iterator[Before]:
    """Yield what comes before each instruction, in every way that keeps groups whole.

    The first way is the one in which an instruction comes before a group if it is written before
    it, wherever that can be.
    """
    before = standing_before(kernel)
    yield from _decided(before, conflicts_with_groups(kernel), tuple(before))


def _decided(
    before: Before, conflicts: Sequence[_Conflict], written: Sequence[str]
) -> Iterator[Before]:
    if not conflicts:
        yield before
        return
    # Those first that leave no choice.
    ways = [(_ways(before, conflict, written), conflict) for conflict in conflicts]
    fewest, chosen = min(ways, key=lambda way: len(way[0]))
    rest = [conflict for conflict in conflicts if conflict != chosen]
    insn_id, group = chosen
    for is_first in fewest:
        new = dict(before)
        for member in group:
            early, late = (insn_id, member) if is_first else (member, insn_id)
            new[late] = new[late] | {early}
        yield from _decided(new, rest, written)


def _ways(before: Before, conflict: _Conflict, written: Sequence[str]) -> list[bool]:
    """Return whether an instruction may come before a group (True), and after it (False)."""
    insn_id, group = conflict
    found: list[bool] = []
    if _above(before, insn_id).isdisjoint(group):
        found.append(True)
    if not any(insn_id in _above(before, member) for member in group):
        found.append(False)
    early = written.index(insn_id) < min(map(written.index, group))
    return sorted(found, reverse=early)


def _above(before: Before, insn_id: str) -> frozenset[str]:
    """Return all that comes before an instruction, through others, too."""
    found: set[str] = set()
    pending = [insn_id]
    while pending:
        new = before[pending.pop()] - found
        found |= new
        pending += new
    return frozenset(found)
