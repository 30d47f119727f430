"""Distributes loops that are serial because of some of their statements.

    for i:                              for i: a[i] = a[i-1] + x[i]
        a[i] = a[i-1] + x[i]      ->    for j: b[j] = exp(y[j])        threads and vectors share it
        b[i] = exp(y[i])

Statements that need each other in a circle stay together.  What they hide while they wait for
their results is lost, so on processors the others have to be worth it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

from polygen.ir.kernel import Kernel
from polygen.schedules.iteration_distances import Carried, Touch, carried, distance
from polygen.schedules.nest_siblings import Sibling, plain_nests
from polygen.schedules.nests import Extents, weight_of
from polygen.schedules.plan import Plan
from polygen.transforms.fusion.distribute_loop import distribute_loop
from polygen.transforms.instructions.add_dependency import add_dependency
from polygen.transforms.instructions.remove_dependency import remove_dependency

_LATENCY = 4  # cycles until an operation's result is there: a chain takes one after the other
_LANES = 4  # of a vector
_WORTH_IT = 30_000  # operations: fewer, and waking threads takes as long
_FEW = 10_000  # work items: with fewer, a GPU idles


@dataclass(frozen=True)
class _Part:
    """Statements that stay in one loop.

    Attributes:
        ids: the statements, in order.
        touches: what they read and write.
        operations: how many they take.
        states: what each loop would carry.
    """

    ids: tuple[str, ...]
    touches: tuple[Touch, ...]
    operations: int
    states: Mapping[str, Carried]

    def is_parallel(self, iname: str) -> bool:
        """Tell whether a loop of these alone is parallel."""
        return self.states[iname] is Carried.NOTHING


def loops_distributed(plan: Plan) -> None:
    """Give statements loops of their own, where these are parallel, and the whole loop is not."""
    for nest in list(plain_nests(plan.kernel)):
        if len(nest.ids) > 1:
            _distribute(plan, nest)


def _distribute(plan: Plan, nest: Sibling) -> None:
    whole = carried(nest.touches, nest.loops)
    serial = [iname for iname in nest.loops if whole[iname] is not Carried.NOTHING]
    for iname in serial[:1]:
        inner = nest.loops[nest.loops.index(iname) :]
        parts = _merged(_parts(plan.kernel, nest, inner), iname)
        free = [part for part in parts if part.is_parallel(iname)]
        if not free or len(parts) == 1:
            return
        ids = [name for part in free for name in part.ids]
        what = f"loops of their own along '{iname}'"
        if why := _why_not(plan, nest, iname, parts):
            plan.leave(ids, what, why)
            return
        plan.take(
            ids,
            what,
            f"these are parallel: {sum(part.operations for part in free)} of "
            f"{sum(part.operations for part in parts)} operations",
            partial(_distributed, iname=iname, parts=parts),
        )


def _distributed(kernel: Kernel, iname: str, parts: Sequence[_Part]) -> Kernel:
    """Return the kernel with a loop for each part."""
    kernel = _in_order(kernel, parts)
    for part in reversed(parts[1:]):
        kernel = distribute_loop(kernel, iname, within=part.ids)
    return kernel


def _in_order(kernel: Kernel, parts: Sequence[_Part]) -> Kernel:
    """Return the kernel with statements after those of the parts before theirs, not before them."""
    later = {name for part in parts for name in part.ids}
    for part in parts:
        later -= {*part.ids}
        for name in part.ids:
            for other in sorted(kernel.instruction(name).depends_on & later):
                kernel = remove_dependency(kernel, f"id:{name}", f"id:{other}")
                kernel = add_dependency(kernel, f"id:{other}", f"id:{name}")
    return kernel


def _why_not(plan: Plan, nest: Sibling, iname: str, parts: Sequence[_Part]) -> str | None:
    """Return why distributing does not pay; None if it does."""
    extents = Extents(plan.kernel, plan.request.sizes)
    outer = nest.loops[: nest.loops.index(iname)]
    if plan.request.on_grid:
        if extents.instances(outer) >= _FEW:
            return "the loops around it keep work items busy"
        return None
    free = sum(part.operations for part in parts if part.is_parallel(iname))
    bound = sum(part.operations for part in parts if not part.is_parallel(iname))
    sharing = _LANES if outer else _LANES * plan.request.units
    if free - free / sharing <= _LATENCY * bound:
        return f"{free} operations are done while {bound} wait for those of the iteration before"
    if free * extents.instances(plan.kernel.instruction(nest.ids[0]).within_inames) < _WORTH_IT:
        return "there is too little to do"
    return None


# --- which statements stay together


def _parts(kernel: Kernel, nest: Sibling, loops: Sequence[str]) -> list[_Part]:
    """Return the statements of a nest that need each other in circles, in a legal order."""
    count = len(nest.ids)
    before = _reached(count, _needed(nest, loops))
    parts: list[_Part] = []
    seen: set[int] = set()
    for place in range(count):
        if place in seen:
            continue
        circle = [p for p in range(count) if p == place or _both(before, p, place)]
        seen.update(circle)
        touches = tuple([touch for p in circle for touch in nest.of_insns[p]])
        parts.append(
            _Part(
                tuple([nest.ids[p] for p in circle]),
                touches,
                sum(weight_of(kernel.instruction(nest.ids[p])) for p in circle),
                carried(touches, loops),
            )
        )
    places = {name: place for place, name in enumerate(nest.ids)}
    firsts = [places[part.ids[0]] for part in parts]
    order = sorted(range(len(parts)), key=lambda n: (len(before[firsts[n]]), firsts[n]))
    return [parts[n] for n in order]


def _both(before: Sequence[set[int]], first: int, second: int) -> bool:
    return first in before[second] and second in before[first]


def _needed(nest: Sibling, loops: Sequence[str]) -> set[tuple[int, int]]:
    """Return the pairs of statements of which the second has to come after the first."""
    found: set[tuple[int, int]] = set()
    for first, second in combinations(range(len(nest.ids)), 2):
        for one, other in product(nest.of_insns[first], nest.of_insns[second]):
            if one.name != other.name or not (one.is_write or other.is_write):
                continue
            if one.is_own:
                found |= {(first, second), (second, first)}
                continue
            known = distance(one.forms, other.forms, loops)
            if known is not None:
                sign = _sign(known, loops)
                found |= {(first, second)} if sign != -1 else set()
                found |= {(second, first)} if sign in (-1, None) else set()
    return found


def _sign(known: Mapping[str, int], loops: Sequence[str]) -> int | None:
    """Return whether the second instance comes in a later iteration, or in an earlier one."""
    for iname in loops:
        if iname not in known:
            return None
        if known[iname]:
            return 1 if known[iname] > 0 else -1
    return 0


def _reached(count: int, pairs: set[tuple[int, int]]) -> list[set[int]]:
    """Return, for each statement, those that come before it, through others too."""
    before: list[set[int]] = [set() for _ in range(count)]
    for first, second in pairs:
        before[second].add(first)
    for middle in range(count):
        for place in range(count):
            if middle in before[place]:
                before[place] |= before[middle]
    return before


def _merged(parts: Sequence[_Part], iname: str) -> list[_Part]:
    """Return neighbours as one part, where both are parallel, or both are not."""
    found: list[_Part] = []
    for part in parts:
        if found and found[-1].is_parallel(iname) == part.is_parallel(iname):
            last = found.pop()
            touches = last.touches + part.touches
            states = carried(touches, list(part.states))
            both = _Part(last.ids + part.ids, touches, last.operations + part.operations, states)
            if both.is_parallel(iname) == part.is_parallel(iname):
                found.append(both)
                continue
            found.append(last)
        found.append(part)
    return found
