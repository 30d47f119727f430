"""Whether a kernel still computes the same after its loops were rearranged.

The new kernel has the old one's instructions, at other points: each new instance computes one
old instance, and the *instance map* says which.  Then the two compute the same if

1. the map is a bijection from the new instances onto the old ones,
2. each instruction computes at a new point what the old one computed at the point it maps to,
3. every two instances that touch one element, one of them writing, come in the order in which
   they came before.

Temporaries on hardware axes are several: one for each work item, or for each group.  So 3 also
says that what was written is read from the same copy, and that instances which had copies of
their own do not share one.  And it only concerns instances in one iteration of the loops between
whose iterations a temporary passes no value, neither before nor after
(`polygen.analysis.scratch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product

import islpy as isl

from polygen.analysis.copies import SameCopy, axes, same_copy
from polygen.analysis.distance import only_itself
from polygen.analysis.domains import domain_of
from polygen.analysis.instance_map import UNMOVED, InstanceMap
from polygen.analysis.isl_affine import condition_set
from polygen.analysis.order import Piece, order_of
from polygen.analysis.pairs import (
    Conflict,
    conflicts,
    equal,
    greater,
    is_read,
    less,
    piece_set,
    renamed,
    users,
    witness,
)
from polygen.analysis.scratch import apart, common_inames, passes_nothing
from polygen.analysis.second import in_other
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel

REVERSED = "reversed"
UNORDERED = "unordered"
SEPARATED = "separated"
MERGED = "merged"


@dataclass(frozen=True)
class Violation:
    """Two instances of the new kernel that no longer do to each other what they did.

    Attributes:
        first: the id of the instruction whose instance has to come first.
        second: the other one's.
        name: the variable of which they touch one element.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``.
        certain: whether both touch it for certain; otherwise data decides.
        now: ``"reversed"`` if the second comes first now; ``"unordered"``; ``"separated"`` if
            each touches a copy of its own now; ``"merged"`` if each did, and no longer does.
        point: values of the parameters, of the first's inames, and (with a suffix) of the
            second's.
        other_name: the variable that the second touches, if it is an array that may overlap the
            first's.
    """

    first: str
    second: str
    name: str
    kind: str
    certain: bool
    now: str
    point: Mapping[str, int]
    other_name: str | None = None


@dataclass(frozen=True)
class _Step:
    """A kernel before and after, and which old instance each new one computes."""

    old: Kernel
    new: Kernel
    map: InstanceMap


@dataclass(frozen=True)
class _Copies:
    """Which pairs touch one copy of a variable: before, and now.

    Attributes:
        before, now: the two answers.
        unchanged: whether they are the same for each pair.
    """

    before: SameCopy
    now: SameCopy
    unchanged: bool

    @property
    def certain(self) -> bool:
        """Whether data has no say in this."""
        return self.unchanged or (self.before.certain and self.now.certain)


def violation(
    old: Kernel, new: Kernel, instances: InstanceMap, skip: frozenset[str] = frozenset()
) -> Violation | None:
    """Return a broken dependence of the new kernel, or None if every one is kept.

    Parameters:
        old: the kernel before.
        new: the kernel after, with the same instructions.
        instances: which old instance each new one computes.
        skip: variables not to look at.  Pairs of arrays that may overlap are looked at
            nevertheless.
    """
    step = _Step(old, new, instances)
    for name, other_name in _touching(new):
        if other_name is None and name in skip:
            continue
        others = users(new, other_name or name)
        for insns in product(users(new, name), others):
            found = _broken(step, insns, name, other_name)
            if found is not None:
                return found
    return None


def _touching(kernel: Kernel) -> Iterator[tuple[str, str | None]]:
    """Yield what is written, and pairs of arrays that may overlap, one of them written."""
    for name in kernel.writers:
        if is_read(kernel, name):
            yield name, None
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    if any(a.may_alias for a in arrays):
        for a, b in product(arrays, arrays):
            overlap = (a.may_alias or b.may_alias) and a != b
            if overlap and (a.name in kernel.writers or b.name in kernel.writers):
                yield a.name, b.name


def _broken(
    step: _Step, insns: tuple[str, str], name: str, other_name: str | None
) -> Violation | None:
    before = list(order_of(step.old).before(*insns))
    copies = _copies(step, insns, name)
    if not before and copies.unchanged:
        return None
    first, second = insns
    if first == second and not other_name and only_itself(step.new, first, name, step.old):
        return None
    if copies.unchanged and _orders_the_same(step, insns, before):
        return None
    known = step.new.assumptions.flat
    kept: list[isl.Set] | None = None
    for conflict in conflicts(step.new, *insns, name, other_name):
        pairs = conflict.pairs.intersect(known)
        for suspected, now in _bad(step, insns, conflict, pairs, before, copies):
            if suspected.is_empty():
                continue
            if kept is None:
                kept = [equal(i) for i in sorted(_frame(step, name))]
            bad = reduce(isl.Set.intersect, kept, suspected)
            if not bad.is_empty():
                certain = conflict.certain and copies.certain
                point = witness(bad)
                return Violation(*insns, name, conflict.kind, certain, now, point, other_name)
    return None


def _orders_the_same(step: _Step, insns: tuple[str, str], before: list[Piece]) -> bool:
    """Tell whether loops and dependencies order all pairs that they ordered, the same way.

    They do if they are the same: no pair comes in one order in these loops, and in another, too.
    """
    old, new = order_of(step.old), order_of(step.new)
    loops = old.shared_loops(*insns)
    if loops != new.shared_loops(*insns) or any(piece.only is not None for piece in before):
        return False
    if any(step.map.moves(insn, frozenset(loops)) for insn in insns):
        return False
    return new.depends(*insns) or not old.depends(*insns)


def _bad(
    step: _Step,
    insns: tuple[str, str],
    conflict: Conflict,
    pairs: isl.Set,
    before: list[Piece],
    copies: _Copies,
) -> Iterator[tuple[isl.Set, str]]:
    """Yield pairs that there must not be, and what is wrong with them."""
    for piece in before:
        needed = _in_old_order(step, insns, pairs, piece).intersect(copies.before.possible)
        if needed.is_empty():
            continue
        if conflict.kind == "flow" and not copies.unchanged:
            yield needed.subtract(copies.now.finds(needed)), SEPARATED
        needed = needed.intersect(copies.now.possible)
        for wrong, compared, now in _not_before(step.new, *insns):
            if not _contradicts(step, insns, piece, compared):
                yield reduce(isl.Set.intersect, wrong, needed), now
    if not copies.unchanged:
        merged = pairs.intersect(copies.now.possible)
        known = copies.before.certain
        yield merged.subtract(copies.before.possible) if known else merged, MERGED


def _in_old_order(step: _Step, insns: tuple[str, str], pairs: isl.Set, piece: Piece) -> isl.Set:
    """Return the pairs of new instances whose old instances are in a piece of the old order."""
    inames = frozenset(piece.equal if piece.less is None else (*piece.equal, piece.less))
    if not any(step.map.moves(insn, inames) for insn in insns):
        return piece_set(pairs, piece)
    for iname in piece.equal:
        pairs = pairs.intersect(_compared(step, insns, iname, "=="))
    return pairs if piece.less is None else pairs.intersect(_compared(step, insns, piece.less, "<"))


def _compared(step: _Step, insns: tuple[str, str], iname: str, operator: str) -> isl.Set:
    """Return the pairs of which the old values of an iname compare like this."""
    first, second = (step.map.value(insn, iname) for insn in insns)
    condition = condition_set(ex.Comparison(first, operator, in_other(step.new, second)))
    if condition is None:
        raise InternalError(f"the old value of '{iname}' is not affine: {first!r}, {second!r}")
    return condition


def _contradicts(
    step: _Step, insns: tuple[str, str], piece: Piece, compared: Mapping[str, str]
) -> bool:
    """Tell whether an old order and a new one compare an iname that did not move otherwise."""
    old = dict.fromkeys(piece.equal, "=")
    if piece.less is not None:
        old[piece.less] = "<"
    different = frozenset(i for i, how in old.items() if compared.get(i, how) != how)
    moved = {i for i in different if any(step.map.moves(n, frozenset((i,))) for n in insns)}
    return len(moved) < len(different)


def _not_before(
    kernel: Kernel, first: str, second: str
) -> Iterator[tuple[list[isl.Set], Mapping[str, str], str]]:
    """Yield the pairs of which the first instance does not come first.

    Each as sets to intersect, how they compare loops, and what is so instead.
    """
    order = order_of(kernel)
    shared = order.shared_loops(first, second)
    for depth, loop in enumerate(shared):
        how = {**dict.fromkeys(shared[:depth], "="), loop: ">"}
        yield [*(equal(i) for i in shared[:depth]), greater(loop)], how, REVERSED
    if order.depends(first, second):
        return
    same, how = [equal(i) for i in shared], dict.fromkeys(shared, "=")
    if first != second:
        ordered = order.related(first, second)
        if ordered is not None:
            same.append(ordered.complement())
        yield same, how, REVERSED if order.depends(second, first) else UNORDERED
        return
    for iname in sorted(kernel.instruction(first).within_inames):
        if is_parallel(kernel.tags.get(iname)):
            yield [*same, less(iname)], how, UNORDERED
            yield [*same, greater(iname)], how, UNORDERED


# --- temporaries


def _copies(step: _Step, insns: tuple[str, str], name: str) -> _Copies:
    found = [axes(kernel, insn, name) for kernel in (step.old, step.new) for insn in insns]
    inames = frozenset(iname for axis in found for iname in axis.values())
    moved = any(step.map.moves(insn, inames) for insn in insns)
    unchanged = found[:2] == found[2:] and not moved
    before = same_copy(step.old, insns, name, step.map)
    if unchanged:
        return _Copies(before, before, unchanged=True)
    return _Copies(before, same_copy(step.new, insns, name, UNMOVED), unchanged=False)


def _frame(step: _Step, name: str) -> frozenset[str]:
    """Return new inames that pairs have to agree in, for their order to matter.

    A temporary that passes nothing between iterations of these, neither before nor after, is
    only touched by instances of other iterations in between by chance.
    """
    if not isinstance(step.new.variables[name], TemporaryVariable):
        return frozenset()
    now = apart(step.new, name, common_inames(step.new, name))
    while now:
        before = apart(step.old, name, _old_names(step, name, now))
        if (
            _is_finer(step, name, before, now)
            and passes_nothing(step.new, name, now)
            and passes_nothing(step.old, name, before)
        ):
            return now
        loops = [i for i in order_of(step.new).loops(users(step.new, name)[0]) if i in now]
        if not loops:
            break
        now -= {loops[-1]}
    return frozenset()


def _old_names(step: _Step, name: str, inames: frozenset[str]) -> frozenset[str]:
    """Return the old inames that instances have in common which agree in these new ones.

    What such an iname is must be the same for all instructions.
    """
    found: set[str] = set()
    for iname in common_inames(step.old, name):
        first, *others = (step.map.value(insn, iname) for insn in users(step.old, name))
        names = walk.free_variables(first).intersection(step.new.inames)
        if all(value == first for value in others) and names <= inames:
            found.add(iname)
    return frozenset(found)


def _is_finer(step: _Step, name: str, before: frozenset[str], now: frozenset[str]) -> bool:
    """Tell whether instances in one old iteration are in one new one, too.

    The old inames are such as `_old_names` returns.
    """
    user = users(step.old, name)[0]
    if not step.map.moves(user, before):
        return before >= now
    inames = now.union(*(walk.free_variables(step.map.value(user, i)) for i in before))
    domain = domain_of(step.new, inames.intersection(step.new.home_domains))
    pairs = domain.intersect(renamed(domain, step.new.inames))
    agree = (_compared(step, (user, user), i, "==") for i in sorted(before))
    pairs = reduce(isl.Set.intersect, agree, pairs)
    same = reduce(isl.Set.intersect, (equal(i) for i in sorted(now)))
    return bool(pairs.is_subset(same))
