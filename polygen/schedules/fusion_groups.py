"""Decides which sibling nests become one: legal, as parallel as before, and fewer bytes.

Nests are taken in their order, each into that group of nests before it with which it saves most.
Between the group and the nest nothing may stand that needs the one and is needed by the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from polygen.ir.kernel import Kernel
from polygen.schedules.fused_traffic import Prices, Traffic, kept_names
from polygen.schedules.iteration_distances import (
    Carried,
    Touch,
    begins_anew,
    carried,
    distance,
    moved,
)
from polygen.schedules.loop_values import same_values
from polygen.schedules.nest_siblings import Sibling, orders

_LEAST = 0.1  # of what both move: less is noise
_TRIED = 8  # groups that share something with a nest, the nearest ones
_STREAMS = 10  # at once: with more, caches of 8 ways and registers are too few


@dataclass
class Member:
    """A nest of a group.

    Attributes:
        sibling: the nest.
        shifts: what is added to each of its inames to make them those of the first nest.
        apart: how many bytes it moves alone.
        saved: how many bytes less are moved, since it is in the group.
    """

    sibling: Sibling
    shifts: tuple[int, ...]
    apart: int
    saved: int = 0


@dataclass
class Group:
    """Nests that become one.

    Attributes:
        ids: the instructions.
        members: the nests, in order; none if it cannot be fused.
        loops: the loops of the first one.
        touches: what all touch, in the coordinates of the first one.
        states: what each loop carries.
        above: the groups, as bits, that come before it.
        traffic: what it moves, once fused.
        by_name: what touches each variable.
    """

    ids: list[str]
    members: list[Member]
    loops: tuple[str, ...]
    touches: list[Touch]
    states: dict[str, Carried]
    above: int
    traffic: Traffic | None = None
    by_name: dict[str, list[Touch]] = field(default_factory=dict[str, list[Touch]])


@dataclass(frozen=True)
class NotFused:
    """Two nests that would save bytes, and stay apart.

    Attributes:
        ids: their instructions.
        why: the reason.
    """

    ids: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class _Match:
    group: int
    shifts: tuple[int, ...]
    touches: list[Touch]
    saved: int
    apart: Traffic
    fused: Traffic


class Grouping:
    """Groups of the siblings of a loop body.

    Parameters:
        kernel: the kernel.
        siblings: the nests and instructions, in order.
        prices: what it costs to move elements.
        has_caches: whether a nest with many streams is slow.

    Attributes:
        groups: the groups, in order.
        left: what was not fused, and would have saved bytes.
    """

    def __init__(
        self, kernel: Kernel, siblings: Sequence[Sibling], prices: Prices, *, has_caches: bool
    ) -> None:
        self._kernel = kernel
        self._plain = kernel.expanded
        self._prices = prices
        self._streams = _STREAMS if has_caches else 1 << 30
        self._uses = _counts(self._plain, siblings)
        self.groups: list[Group] = []
        self.left: list[NotFused] = []
        self._of_sibling: list[int] = []
        self._touching: dict[str, list[int]] = {}
        for sibling, before in zip(siblings, orders(self._plain, siblings), strict=True):
            self._place(sibling, before)

    def _place(self, sibling: Sibling, before: set[int]) -> None:
        above = 0
        for place in before:
            number = self._of_sibling[place]
            above |= self.groups[number].above | 1 << number
        match = self._best(sibling, above) if sibling.is_plain else None
        if match is None:
            number = self._begin(sibling, above)
        else:
            number = match.group
            self._join(sibling, match, above)
        self._of_sibling.append(number)
        for name in {touch.name for touch in sibling.touches}:
            known = self._touching.setdefault(name, [])
            if number not in known:
                known.append(number)

    def _begin(self, sibling: Sibling, above: int) -> int:
        states = carried(sibling.touches, sibling.loops) if sibling.is_plain else {}
        group = Group([*sibling.ids], [], sibling.loops, [], states, above)
        if sibling.is_plain:
            group.traffic = self._prices.traffic(sibling.touches, sibling.loops)
            member = Member(sibling, (0,) * len(sibling.loops), group.traffic.moved)
            self._add(group, member, list(sibling.touches))
        self.groups.append(group)
        return len(self.groups) - 1

    def _join(self, sibling: Sibling, match: _Match, above: int) -> None:
        group = self.groups[match.group]
        member = Member(sibling, match.shifts, match.apart.moved, match.saved)
        group.ids += sibling.ids
        self._add(group, member, match.touches)
        for iname, state in carried(match.touches, group.loops).items():
            if group.states[iname] is Carried.NOTHING:
                group.states[iname] = state
        group.traffic = match.fused
        group.above |= above & ~(1 << match.group)
        for other in self.groups:
            if other.above >> match.group & 1:
                other.above |= group.above

    @staticmethod
    def _add(group: Group, member: Member, touches: list[Touch]) -> None:
        group.members.append(member)
        group.touches += touches
        for touch in touches:
            group.by_name.setdefault(touch.name, []).append(touch)

    # --- which group

    def _best(self, sibling: Sibling, above: int) -> _Match | None:
        """Return the group with which a nest saves most."""
        numbers = {n for t in sibling.touches for n in self._touching.get(t.name, ())}
        states = carried(sibling.touches, sibling.loops)
        near = [n for n in sorted(numbers, reverse=True) if self._may_join(n, sibling, above)]
        found = [self._match(number, sibling, states) for number in near[:_TRIED]]
        return max([m for m in found if m is not None], key=lambda m: m.saved, default=None)

    def _may_join(self, number: int, sibling: Sibling, above: int) -> bool:
        """Tell whether nothing stands between a group and a nest, and both have as many loops."""
        group = self.groups[number]
        between = any(
            above >> n & 1 and other.above >> number & 1 for n, other in enumerate(self.groups)
        )
        return bool(group.members) and len(group.loops) == len(sibling.loops) and not between

    def _match(self, number: int, sibling: Sibling, states: Mapping[str, Carried]) -> _Match | None:
        """Return what fusing a nest with a group would do; None if it is not done."""
        group = self.groups[number]
        shifts = _shifts(self._plain, group, sibling)
        if shifts is None:
            return None
        at = {
            old: (new, -by) for old, new, by in zip(sibling.loops, group.loops, shifts, strict=True)
        }
        touches = [moved(touch, at) for touch in sibling.touches]
        match = self._priced(number, shifts, touches, sibling)
        assert group.traffic is not None
        if match.saved < _LEAST * (group.traffic.moved + match.apart.moved):
            return None
        of_nest = [states[iname] for iname in sibling.loops]
        why = _why_apart(group, touches, of_nest)
        streams = match.fused.streams
        most = max(self._streams, group.traffic.streams, match.apart.streams)
        if why is None and streams > most:
            why = f"{streams} streams at once are too many for caches"
        if why is not None:
            self.left.append(NotFused((*group.ids, *sibling.ids), why))
            return None
        return match

    def _priced(
        self, number: int, shifts: tuple[int, ...], touches: list[Touch], sibling: Sibling
    ) -> _Match:
        group = self.groups[number]
        both = [*group.touches, *touches]
        ids = {*group.ids, *sibling.ids}
        outside = {touch.name: len(self._uses[touch.name] - ids) for touch in touches}
        names = {touch.name for touch in touches}
        shared = [t for name in names for t in group.by_name.get(name, ())]
        mine = [touch for touch in both if touch.name in names]
        kept = kept_names(self._plain, mine, group.loops, outside) if shared else set[str]()
        fused = self._prices.traffic(both, group.loops, kept | self._kept(group))
        apart = self._prices.traffic(touches, group.loops)
        assert group.traffic is not None
        saved = group.traffic.moved + apart.moved - fused.moved
        return _Match(number, shifts, touches, saved, apart, fused)

    def _kept(self, group: Group) -> set[str]:
        outside = {name: len(self._uses[name].difference(group.ids)) for name in group.by_name}
        if len(group.members) == 1:
            return set()
        return kept_names(self._plain, group.touches, group.loops, outside)


def _counts(kernel: Kernel, siblings: Sequence[Sibling]) -> dict[str, set[str]]:
    """Return the instructions that touch each variable."""
    found: dict[str, set[str]] = {}
    for insn in kernel.instructions:
        for name in insn.read_names.union(insn.written_names):
            found.setdefault(name, set()).add(insn.id)
    for sibling in siblings:
        for touch in sibling.touches:
            found.setdefault(touch.name, set()).update(sibling.ids)
    return found


def _why_apart(group: Group, touches: Sequence[Touch], states: Sequence[Carried]) -> str | None:
    """Return why a nest is not fused with a group; None if it may be.

    Where both carry something along a loop, only the proof says whether they can be one.
    """
    needed: list[str] = []
    for iname, state in zip(group.loops, states, strict=True):
        both = group.states[iname], state
        if Carried.NOTHING in both and both[0] is not both[1]:
            return f"along '{iname}', one of the two loops is parallel, the other one is not"
        if both != (Carried.SOMETHING, Carried.SOMETHING):
            needed.append(iname)
    by_name: dict[str, list[Touch]] = {}
    for touch in touches:
        by_name.setdefault(touch.name, []).append(touch)
    for name, uses in by_name.items():
        joined = _loop_joined(group.by_name.get(name, ()), uses, group.loops, needed)
        if joined is not None:
            return f"iterations of '{joined}' would need each other, by '{name}'"
    return None


def _loop_joined(
    first: Sequence[Touch], second: Sequence[Touch], loops: Sequence[str], needed: Sequence[str]
) -> str | None:
    """Return a loop whose iterations would need each other by a variable, if there is one.

    Parameters:
        first: the accesses of one nest.
        second: those of the other one, in the same coordinates.
        loops: all loops.
        needed: those that have to stay parallel.
    """
    if first and first[0].is_own and begins_anew(first) and begins_anew(second):
        return None
    for one, other in product(first, second):
        if not (one.is_write or other.is_write):
            continue
        apart = distance(one.forms, other.forms, loops)
        for iname in needed if apart is not None else ():
            if apart is not None and apart.get(iname) != 0:
                return iname
    return None


# --- values of the loops


def _shifts(kernel: Kernel, group: Group, sibling: Sibling) -> tuple[int, ...] | None:
    """Return what is added to the inames of a nest so that they have the values of a group's."""
    if same_values(kernel, group.loops, sibling.loops):
        return (0,) * len(group.loops)
    shifts = _shown(group, sibling)
    if shifts is not None and same_values(kernel, group.loops, sibling.loops, shifts):
        return shifts
    return None


def _shown(group: Group, sibling: Sibling) -> tuple[int, ...] | None:
    """Return the shift that lets both touch one element of an array that they share."""
    at = {old: (new, 0) for old, new in zip(sibling.loops, group.loops, strict=True)}
    for touch in sibling.touches:
        for known in group.by_name.get(touch.name, ()):
            apart = distance(known.forms, moved(touch, at).forms, group.loops)
            if apart is not None and all(iname in apart for iname in group.loops):
                found = tuple([-apart[iname] for iname in group.loops])
                if any(found):
                    return found
    return None
