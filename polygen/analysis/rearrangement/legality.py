"""Decides whether a rearranged kernel still computes the same, by the order of instances.

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
(`polygen.analysis.pairs.iteration_local`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product

import islpy as isl

from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.access.storage_copies import SameCopy, axes, same_copy
from polygen.analysis.order.instance_order import Piece, order_of
from polygen.analysis.pairs.constant_distances import only_itself
from polygen.analysis.pairs.instance_pairs import (
    Conflict,
    conflicts,
    equal,
    greater,
    is_read,
    is_shared,
    less,
    piece_set,
    witness,
)
from polygen.analysis.rearrangement.changed_pairs import ChangedPairs
from polygen.analysis.rearrangement.kept_order import is_plainly_kept
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis, is_parallel

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
class _Copies:
    """The pairs that touch one copy of a variable: before, and now.

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
    step = Rearrangement(old, new, instances)
    changes = ChangedPairs(step)
    for name, other_name in _touching(new):
        if other_name is None and name in skip:
            continue
        for insns in changes.pairs(name, other_name):
            found = _broken(step, insns, name, other_name)
            if found is not None:
                return found
    return None


def _touching(kernel: Kernel) -> Iterator[tuple[str, str | None]]:
    """Yield what is written, and pairs of arrays that may overlap, one of them written.

    What each work item has for itself, and nothing reads, may be written in any order.
    """
    for name in kernel.writers:
        if is_read(kernel, name) or is_shared(kernel, name):
            yield name, None
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    if any(a.may_alias for a in arrays):
        for a, b in product(arrays, arrays):
            overlap = (a.may_alias or b.may_alias) and a != b
            if overlap and (a.name in kernel.writers or b.name in kernel.writers):
                yield a.name, b.name


def _broken(
    step: Rearrangement, insns: tuple[str, str], name: str, other_name: str | None
) -> Violation | None:
    first, second = insns
    if other_name is None:
        if first == second and only_itself(step.new, first, name, step.old):
            return None
        if is_plainly_kept(step, insns, name):
            return None
    before = list(order_of(step.old).before(*insns))
    copies = _copies(step, insns, name)
    if not before and copies.unchanged:
        return None
    known = step.new.assumptions.flat
    wrong = _bad if other_name is not None or is_read(step.new, name) else _at_once
    kept: list[isl.Set] | None = None
    for conflict in conflicts(step.new, *insns, name, other_name):
        pairs = conflict.pairs.intersect(known)
        for suspected, now in wrong(step, insns, conflict, pairs, before, copies):
            if suspected.is_empty():
                continue
            if kept is None:
                kept = [equal(i) for i in sorted(step.frame(name))]
            bad = reduce(isl.Set.intersect, kept, suspected)
            if not bad.is_empty():
                certain = conflict.certain and copies.certain
                point = witness(bad)
                return Violation(*insns, name, conflict.kind, certain, now, point, other_name)
    return None


def _bad(
    step: Rearrangement,
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


def _at_once(
    step: Rearrangement,
    insns: tuple[str, str],
    conflict: Conflict,
    pairs: isl.Set,
    before: list[Piece],
    copies: _Copies,
) -> Iterator[tuple[isl.Set, str]]:
    """Yield pairs that are a race now, and were none: writes of an element that nothing reads.

    Any order of such writes will do, and lowering finds one, but for work items that execute one
    instruction at once.
    """
    order = order_of(step.new)
    pairs = reduce(isl.Set.intersect, map(equal, order.loops(insns[0])), pairs)
    for iname in sorted(step.new.instruction(insns[0]).within_inames):
        if is_on_axis(step.new.tags.get(iname)):
            for other in (less, greater):
                for found, now in _bad(
                    step, insns, conflict, pairs.intersect(other(iname)), before, copies
                ):
                    if now in (UNORDERED, MERGED):
                        yield found, now


def _in_old_order(
    step: Rearrangement, insns: tuple[str, str], pairs: isl.Set, piece: Piece
) -> isl.Set:
    """Return the pairs of new instances whose old instances are in a piece of the old order."""
    inames = frozenset(piece.equal if piece.less is None else (*piece.equal, piece.less))
    if not any(step.map.moves(insn, inames) for insn in insns):
        return piece_set(pairs, piece)
    for iname in piece.equal:
        pairs = pairs.intersect(step.compared(insns, iname, "=="))
    return pairs if piece.less is None else pairs.intersect(step.compared(insns, piece.less, "<"))


def _contradicts(
    step: Rearrangement, insns: tuple[str, str], piece: Piece, compared: Mapping[str, str]
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


def _copies(step: Rearrangement, insns: tuple[str, str], name: str) -> _Copies:
    found = [axes(kernel, insn, name) for kernel in (step.old, step.new) for insn in insns]
    inames = frozenset(iname for axis in found for iname in axis.values())
    moved = any(step.map.moves(insn, inames) for insn in insns)
    unchanged = found[:2] == found[2:] and not moved
    before = same_copy(step.old, insns, name, step.map)
    if unchanged:
        return _Copies(before, before, unchanged=True)
    return _Copies(before, same_copy(step.new, insns, name, UNMOVED), unchanged=False)
