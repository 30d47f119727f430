"""Checks that conflicting instances come in an order.

What each instruction computes is then the same in every permitted execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement, pairwise, product
from typing import NoReturn, TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import has_copies, same_copy
from polygen.analysis.integers.instance_wording import (
    shown_conflict,
    shown_parameters,
    shown_places,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.automatic_spaces import reason
from polygen.analysis.pairs.constant_distances import distances, only_itself, subscripts
from polygen.analysis.pairs.instance_pairs import (
    conflict,
    could_claim,
    equal,
    in_conflict,
    is_read,
    is_shared,
    users,
    witness,
)
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.analysis.pairs.unordered_pairs import Loose, loose_pairs
from polygen.analysis.values.sound_accesses import Unchanged
from polygen.analysis.wellformed.distinct_assignees import check_at_once
from polygen.analysis.wellformed.obligations import ORDERED, Obligation, shown_reference
from polygen.analysis.wellformed.open_nests import same_in_every_nest
from polygen.errors import NestingDecides, UnorderedAccess
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_parallel
from polygen.ir.verify import excerpt

_Users: TypeAlias = dict[str, list[Access]]  # accesses of one variable, by instruction
_Wanted: TypeAlias = Callable[[Access, Access, Loose], bool]


def check_order(kernel: Kernel, known: Unchanged) -> Iterator[Obligation]:
    """Yield what has to hold for all conflicting instances to be ordered.

    Parameters:
        kernel: the kernel.
        known: what need not be looked at.

    Raises:
        UnorderedAccess: if two instances touch one element, and nothing orders them.
        NestingDecides: if the order of two such instances depends on which loop is outside.
    """
    for insn in kernel.assignments:
        if len(insn.assignees) > 1:
            yield from check_at_once(kernel, insn.id)
    yield from check_pairs(kernel, known)


def check_pairs(kernel: Kernel, known: Unchanged) -> Iterator[Obligation]:
    """Yield what has to hold for conflicting instances of instructions to be ordered.

    Parameters and errors are those of `check_order`.
    """

    def open_still(a: Access, b: Access, loose: Loose) -> bool:
        return loose.greater is not None or a.name != b.name or a.name not in known.variables

    for found in _pairs(kernel, open_still):
        if found.pairs is not None:
            _refuse(kernel, found, witness(found.pairs))
        yield _obligation(found)


def deciding_nests(kernel: Kernel) -> tuple[tuple[str, ...], ...]:
    """Return pairs of loops, as they are nested, of which it matters which is outside.

    Those that the kernel decides, by its structure or by priorities, are left out.

    Parameters:
        kernel: the kernel; it is known to be sound as its loops are nested.
    """
    nests: dict[frozenset[str | None], tuple[str, ...]] = {}

    def open_still(_a: Access, _b: Access, loose: Loose) -> bool:
        return loose.greater is not None and frozenset((loose.less, loose.greater)) not in nests

    if has_one_nest(kernel):
        return ()
    for found in _pairs(kernel, open_still):
        two = frozenset((found.loose.less, found.loose.greater))
        loops = moments(kernel).loops(found.first, found.second)
        nests[two] = tuple([i for i in loops if i in two])
    return tuple(nests.values())


@per_kernel
def has_one_nest(kernel: Kernel) -> bool:
    """Tell whether the loops around each instruction can be nested in one way only."""
    return all(_one_nest(kernel, insn.id) for insn in kernel.instructions)


def _pairs(kernel: Kernel, wanted: _Wanted) -> Iterator[_Found]:
    """Yield the conflicting instances whose order is open, of the pairs that are wanted."""
    for name in kernel.writers:
        if _is_alone(kernel, name):
            continue
        if is_read(kernel, name):
            yield from _of_variable(kernel, name, wanted)
        elif is_shared(kernel, name):
            yield from _of_unread(kernel, name, wanted)
    for name, other_name in _overlapping(kernel):
        for first, second in product(users(kernel, name), users(kernel, other_name)):
            pair = (touched(kernel, first)[name], touched(kernel, second)[other_name])
            yield from _look(kernel, pair[0], pair[1], wanted)
            if first == second:  # either may be the first instance
                yield from _look(kernel, pair[1], pair[0], wanted)


def _of_variable(kernel: Kernel, name: str, wanted: _Wanted) -> Iterator[_Found]:
    for group in _groups(kernel, name):
        for first, second in _candidates(kernel, group):
            if first != second or not only_itself(kernel, first, name):
                yield from _look(kernel, group[first], group[second], wanted)


def _of_unread(kernel: Kernel, name: str, wanted: _Wanted) -> Iterator[_Found]:
    """Yield instances of one instruction that work items may execute at once.

    Any order of writes that nothing reads will do.  Lowering takes one for those of different
    instructions or iterations of loops; work items that write one element at once are a race.
    """

    def at_once(a: Access, b: Access, loose: Loose) -> bool:
        return loose.on_axis(kernel) and wanted(a, b, loose)

    for insn_id in users(kernel, name):
        if not only_itself(kernel, insn_id, name):
            accesses = touched(kernel, insn_id)[name]
            yield from _look(kernel, accesses, accesses, at_once)


def _is_alone(kernel: Kernel, name: str) -> bool:
    """Tell whether it is plain that each element of a variable is touched by one instance."""
    first, *others = users(kernel, name)
    return not others and only_itself(kernel, first, name)


def _overlapping(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield pairs of arrays that may overlap, one of them written."""
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    for number, a in enumerate(arrays):
        for b in arrays[number + 1 :]:
            written = a.name in kernel.writers or b.name in kernel.writers
            if written and (a.may_alias or b.may_alias):
                yield a.name, b.name


# --- which pairs of instructions to look at


def _groups(kernel: Kernel, name: str) -> Iterator[_Users]:
    """Yield the accesses of a variable, those that constant subscripts keep apart by themselves.

    So that n instructions that write an element each are not looked at in pairs.
    """
    accesses = [(i, a) for i in users(kernel, name) for a in touched(kernel, i)[name]]
    forms = [subscripts(kernel, access) for _, access in accesses]
    rank = min(map(len, forms))
    axes = [n for n in range(rank) if all((f := form[n]) and f.is_constant for form in forms)]
    groups: dict[tuple[int, ...], _Users] = {}
    for (insn_id, access), form in zip(accesses, forms, strict=True):
        key = tuple([f.constant for n in axes if (f := form[n]) is not None])
        groups.setdefault(key, {}).setdefault(insn_id, []).append(access)
    yield from groups.values()


def _candidates(kernel: Kernel, group: _Users) -> Iterator[tuple[str, str]]:
    """Yield pairs of instructions that may have instances in no order."""
    writing = {i for i, accesses in group.items() if any(a.is_write for a in accesses)}
    if not writing:
        return
    one_nest = all(map(_one_nest, [kernel] * len(group), group))
    if one_nest and _in_a_row(kernel, list(group)):
        yield from ((i, i) for i in writing if _on_axes(kernel, i))
        return
    for first, second in combinations_with_replacement(group, 2):
        if first in writing or second in writing:
            yield first, second


def _in_a_row(kernel: Kernel, insn_ids: Sequence[str]) -> bool:
    """Tell whether each of the instructions has to come before the next: after all before it."""
    order = order_of(kernel)
    insn_ids = sorted(insn_ids, key=order.path)
    return all(order.depends(a, b) for a, b in pairwise(insn_ids))


@per_kernel
def _one_nest(kernel: Kernel, insn_id: str) -> bool:
    """Tell whether the loops around an instruction can be nested in one way only."""
    outside, loops = loops_outside(kernel), order_of(kernel).loops(insn_id)
    return all(a in outside[b] for a, b in pairwise(loops))


def _on_axes(kernel: Kernel, insn_id: str) -> bool:
    return any(is_parallel(kernel.tags.get(i)) for i in kernel.instruction(insn_id).within_inames)


# --- pairs of accesses


@dataclass(frozen=True)
class _Found:
    """Two instances that touch one element and whose order is open.

    Attributes:
        first, second: how they touch it.
        kind: as in `Conflict`.
        loose: what is open.
        pairs: these, not empty; None if data decides whether there are such.
    """

    first: Access
    second: Access
    kind: str
    loose: Loose
    pairs: isl.Set | None


def _look(
    kernel: Kernel, first: Sequence[Access], second: Sequence[Access], wanted: _Wanted
) -> Iterator[_Found]:
    """Look at all pairs of accesses of two instructions."""
    for a, b in product(first, second):
        if in_conflict(kernel, a, b):
            for loose in _loose(kernel, a, b):
                if wanted(a, b, loose) and _is_possible(kernel, a, b, loose):
                    found = _find(kernel, a, b, loose)
                    if found is not None:
                        yield found


def _loose(kernel: Kernel, a: Access, b: Access) -> tuple[Loose, ...]:
    if a.insn_id == b.insn_id:
        return loose_pairs(kernel, a.insn_id, b.insn_id)
    found = moments(kernel)
    return loose_pairs(found.statements, found.statement(a), found.statement(b))


def _is_possible(kernel: Kernel, a: Access, b: Access, loose: Loose) -> bool:
    """Tell, without isl, whether such instances may touch one element."""
    if a.name != b.name:
        return True
    inside = (
        kernel.instruction(a.insn_id).within_inames & kernel.instruction(b.insn_id).within_inames
    )
    if any(has_copies(kernel, a.name, i) for i in inside.intersection((loose.less, loose.greater))):
        return False  # each has a copy of its own
    if loose.greater is not None and not _frame(kernel, a.name).isdisjoint(
        (loose.less, loose.greater)
    ):
        return False
    known = distances(kernel, a, b)
    if known is None or any(known.get(iname, 0) for iname in loose.equal):
        return False
    if loose.less is not None and known.get(loose.less, 1) <= 0:
        return False
    return loose.greater is None or known.get(loose.greater, -1) < 0


def _find(kernel: Kernel, a: Access, b: Access, loose: Loose) -> _Found | None:
    found = conflict(kernel, a, b)
    copy = same_copy(kernel, (a.insn_id, b.insn_id), a.name, UNMOVED)
    wanted = [loose.pairs, copy.possible, known_parameters(kernel)]
    pairs = reduce(isl.Set.intersect, wanted, found.pairs)
    if loose.greater is not None and not pairs.is_empty():
        frame = _frame(kernel, a.name)
        pairs = reduce(isl.Set.intersect, map(equal, sorted(frame)), pairs)
    if pairs.is_empty():
        return None
    loops = moments(kernel).loops(a, b)
    by_nests = loose.greater is not None and a.name == b.name
    if (
        by_nests
        and not _is_chain(kernel, a, b, loose)
        and same_in_every_nest(kernel, a.name, loops)
    ):
        return None
    bounds = a.name == b.name and all(x.exact or x.reference is None for x in (a, b))
    certain = (found.certain or bounds) and copy.certain
    return _Found(a, b, found.kind, loose, pairs if certain else None)


def _is_chain(kernel: Kernel, a: Access, b: Access, loose: Loose) -> bool:
    """Tell whether it is plain that nests differ in which instance reads what another wrote.

    It is if one instruction updates an element in all iterations of both loops, in which no other
    one writes it: each instance reads what the one before it wrote.
    """
    if a.insn_id != b.insn_id or a.reference is None:
        return False
    index = a.reference.index
    same = {x for x in touched(kernel, a.insn_id)[a.name] if _is_certain(x, index)}
    if not same >= {a, b} or {access.is_write for access in same} != {False, True}:
        return False
    varying = kernel.instruction(a.insn_id).within_inames.difference(loose.equal)
    if any(not varying.isdisjoint(walk.free_variables(axis)) for axis in index):
        return False
    others = (w for w in kernel.writers[a.name] if w.id != a.insn_id)
    loops = {i for i in varying if not is_parallel(kernel.tags.get(i))}
    return all(w.within_inames.isdisjoint(loops) for w in others)


def _is_certain(access: Access, index: tuple[Expression, ...]) -> bool:
    """Tell whether an access is certainly made, and has these subscripts."""
    return access.exact and access.reference is not None and access.reference.index == index


@per_kernel
def _frame(kernel: Kernel, name: str) -> frozenset[str]:
    """Return inames between whose iterations a temporary passes nothing.

    Instances of other iterations touch it by chance only: their order does not matter.
    """
    inames = apart(kernel, name, common_inames(kernel, name))
    while inames and not passes_nothing(kernel, name, inames):
        loops = [i for i in order_of(kernel).loops(users(kernel, name)[0]) if i in inames]
        if not loops:
            return frozenset()
        inames -= {loops[-1]}
    return inames


# --- what is said of them


def _obligation(found: _Found) -> Obligation:
    a, b, loose = found.first, found.second, found.loose
    references = tuple(x.reference for x in (a, b) if x.reference is not None)
    first, second = (shown_reference(r) for r in (references[0], references[-1]))
    same = f" in the same iteration of {', '.join(loose.equal)}" if loose.equal else ""
    if loose.greater is not None:
        what = (
            f"no instance touches {first} where another with a larger {loose.less} and a smaller "
            f"{loose.greater} touches {second}{same}"
        )
    elif loose.less is not None:
        through = first if first == second else f"{first} and {second}"
        what = f"no two instances with different {loose.less} touch one element, {through}{same}"
    else:
        what = f"{first} and {second} are never one element{same}"
    insn_ids = tuple(dict.fromkeys((a.insn_id, b.insn_id)))
    return Obligation(ORDERED, insn_ids, a.name, what, references, loose=loose)


def _refuse(kernel: Kernel, found: _Found, point: Mapping[str, int]) -> NoReturn:
    first, second = found.first.insn_id, found.second.insn_id
    does = shown_conflict(kernel, found.kind, found.first.name, (first, second), point)
    story = f"{shown_parameters(kernel, point)}{does}"
    where, marked = shown_places(kernel, first, second), excerpt(kernel, first, second)
    loose = found.loose
    if loose.greater is not None:
        raise NestingDecides(
            f"what kernel '{kernel.name}' computes depends on which loop is outside, that over "
            f"'{loose.less}' or that over '{loose.greater}': {story}, and comes first only if "
            f"'{loose.less}' is outside",
            where=where,
            excerpt=marked,
            remedy=f"say which: make_kernel(..., loop_priority='{loose.less}, {loose.greater}') or "
            f"loop_priority='{loose.greater}, {loose.less}'",
        )
    if not is_read(kernel, found.first.name):
        remedy = f"leave '{first}' out; or let '{found.first.name}' be private"
    elif loose.less is not None:
        remedy = (
            f"leave '{loose.less}' in a loop; for a sum over it, write a reduction: "
            f"sum({loose.less}, ...)"
        )
    else:
        remedy = (
            f"say which comes first: {{dep={first}}} with '{second}', or {{dep={second}}} with "
            f"'{first}'"
        )
    if claiming := could_claim(kernel, (first, second), found.first.name):
        remedy += "; or, if old values may come in any order, claim that: {atomic=any_order} with "
        remedy += " and ".join(f"'{insn_id}'" for insn_id in claiming)
    raise UnorderedAccess(
        f"kernel '{kernel.name}' leaves open which of two instances comes first: {story}"
        f"{reason(kernel, found.first.name)}",
        where=where,
        excerpt=marked,
        remedy=remedy,
    )
