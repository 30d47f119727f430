"""Compares two reads where data decides which write either of them sees.

Data decides that where a subscript or the condition of a write is data, and where arrays may
overlap.  But of whatever there is to be seen, two reads of one element see the same if

- the same writes, each of the same value into the same element, come before both, and
- these writes come in the same order in both kernels.

That writes are the same is what comparing the two kernels shows of each instruction that both have:
it looks at `Pasts.relied_on` for what has to be compared besides.

Where in an array a temporary's elements are does not matter.  If it passes nothing between
iterations of some loops, neither before nor after, two reads see the same if, of the writes in the
same iteration, the same ones touch what is read, and come before it in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import islpy as isl

from polygen.analysis.access.accesses import Access, access_of, touched
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.access.storage_copies import same_copy
from polygen.analysis.dataflow.comparison_context import (
    Context,
    Frame,
    Names,
    equal_set,
    executed,
    renamed_by,
    unequal_set,
)
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.dataflow.read_sources import overlapping, readers_tell
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.access_times import moments
from polygen.analysis.pairs.instance_pairs import conflict, in_conflict, piece_set, users
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Touch:
    """The touch of an array by one kernel's instances: all of it, at the end, without an access."""

    kernel: Kernel
    access: Access | None
    names: Mapping[str, str]


@dataclass(frozen=True)
class Both:
    """The same touch in two kernels, and which of its instances are one and the same."""

    old: Touch
    new: Touch
    points: isl.Set


class Pasts:
    """Compares what came before two reads, of a kernel before a step and of the kernel after it.

    Parameters:
        old: the kernel before.
        new: the kernel after.
        instances: which old instance each new one computes.
        names: gives names to inames in the context.

    Attributes:
        relied_on: the arrays of which the same instructions have to write the same elements.
        relied_on_writes: arrays, each with an instruction of which that is asked.
    """

    def __init__(self, old: Kernel, new: Kernel, instances: InstanceMap, names: Names) -> None:
        self._old, self._new = old, new
        self._instances = instances
        self._names = names
        self._ordered: dict[str, bool] = {}
        self.relied_on: set[str] = set()
        self.relied_on_writes: set[tuple[str, str]] = set()

    def are_same(self, old: Expression, new: Expression, at: Context) -> bool:
        """Tell whether the same writes, in the same order, come before two reads of one array.

        Parameters:
            old: an element, or a scalar, that the old frame reads.
            new: the same of the new frame.
            at: where they are compared.
        """
        reads = Both(read_by(old, at.old), read_by(new, at.new), at.points)
        return self._sees_same(ex.name_of(new), [reads])

    def whole_is_same(self, name: str, at: Context) -> bool:
        """Tell whether the same writes come before two instances of verbatim C that read an array.

        Parameters:
            name: the array.
            at: the two instructions, and which of their instances are compared.
        """
        found = [_reads_of(frame, name) for frame in (at.old, at.new)]
        if len(found[0]) != len(found[1]):
            return False
        reads = [Both(was, now, at.points) for was, now in zip(*found, strict=True)]
        return self._sees_same(name, reads)

    def are_same_within(self, old: Expression, new: Expression, at: Context) -> bool:
        """Tell whether two reads of a temporary see the same write of the same iteration.

        Parameters:
            old: an element, or a scalar, that the old frame reads.
            new: one of the same variable that the new frame reads: it may have another place.
            at: where they are compared.
        """
        name = ex.name_of(new)
        if at.new.insn is END or not self._is_written_alike(name):
            return False
        if not all(readers_tell(k, name) for k in (self._old, self._new)):
            return False
        within = self._passing_nothing(name)
        read = Both(read_by(old, at.old), read_by(new, at.new), at.points)
        if not (within and _are_in_one_iteration(read, within)):
            return False
        if any(_updates(w) for w in self._writes(name)):
            return False
        pairs = product(self._writes(name), self._writes(name))
        return all(_comes_alike(w, read, within) for w in self._writes(name)) and all(
            ordered_alike(*pair, within) for pair in pairs
        )

    def _passing_nothing(self, name: str) -> tuple[str, ...]:
        """Return loops that both kernels have, between iterations of which nothing is passed."""
        common = common_inames(self._old, name) & common_inames(self._new, name)
        ids = users(self._old, name)
        kept = frozenset(i for i in common if all(self._is_kept(insn, i) for insn in ids))
        found = apart(self._old, name, kept) & apart(self._new, name, kept)
        alike = all(passes_nothing(k, name, found) for k in (self._old, self._new))
        return tuple(sorted(found)) if alike else ()

    def _is_kept(self, insn_id: str, iname: str) -> bool:
        return self._instances.value(insn_id, iname) == ex.Variable(iname)

    def _sees_same(self, name: str, reads: Sequence[Both]) -> bool:
        if not self._is_comparable(name):
            return False
        pairs = product(self._writes(name), reads)
        if not all(ordered_alike(write, read) for write, read in pairs):
            return False
        if not self._have_one_order(name):
            return False
        self.relied_on.update(overlapping(self._old, name))
        return True

    def _is_comparable(self, name: str) -> bool:
        """Tell whether the same instructions write an array, or what overlaps it."""
        names = overlapping(self._old, name)
        if names != overlapping(self._new, name):
            return False
        if self._old.address_space(name) is not self._new.address_space(name):
            return False
        return all(self._is_written_alike(n) for n in names)

    def _is_written_alike(self, name: str) -> bool:
        before, after = (k.writers.get(name, ()) for k in (self._old, self._new))
        if [w.id for w in before] != [w.id for w in after]:
            return False
        for was, now in zip(before, after, strict=True):
            counts = {len(written_by(k, was.id, name)) for k in (self._old, self._new)}
            if len(counts) > 1:
                return False
            # Of updates, each has to be there once.
            if was.atomicity is not None and (
                self._instances.of(was.id) or was.within_inames != now.within_inames
            ):
                return False
        return True

    def _have_one_order(self, name: str) -> bool:
        """Tell whether writes of an array that may conflict come as they came."""
        if name not in self._ordered:
            self._ordered[name] = all(
                ordered_alike(*pair) for pair in product(self._writes(name), self._writes(name))
            )
        return self._ordered[name]

    def _writes(self, name: str) -> Iterator[Both]:
        for array in overlapping(self._old, name):
            for writer in self._old.writers.get(array, ()):
                yield from self.written(array, writer.id)

    def written(self, array: str, writer: str) -> Iterator[Both]:
        """Yield the writes of an array by an instruction that both kernels have."""
        before, after = (k.assignment(writer) for k in (self._old, self._new))

        def value(iname: str) -> Expression:
            return self._instances.value(writer, iname)

        olds, news = self._names.linked(before.within_inames, after.within_inames, value)
        there = Frame(self._new, after, news)
        moved = [i for i in sorted(olds) if olds[i] not in news.values()]
        links = [equal_set(ex.Variable(olds[i]), there.named(value(i))) for i in moved]
        points = reduce(isl.Set.intersect, links, executed(there)[0])
        accesses = (written_by(k, writer, array) for k in (self._old, self._new))
        for was, now in zip(*accesses, strict=True):
            yield Both(Touch(self._old, was, olds), Touch(self._new, now, news), points)


def written_by(kernel: Kernel, insn_id: str, array: str) -> list[Access]:
    """Return the writes of an array by an instruction; none if there is no such instruction."""
    if insn_id not in kernel.instructions_by_id:
        return []
    return [a for a in touched(kernel, insn_id).get(array, ()) if a.is_write]


def _reads_of(frame: Frame, name: str) -> list[Touch]:
    found = touched(frame.kernel, frame.insn.id).get(name, ())
    return [Touch(frame.kernel, a, frame.names) for a in found if not a.is_write]


def read_by(node: Expression, frame: Frame) -> Touch:
    """Return the read of an array in an expression of a frame."""
    if frame.insn is END:
        return Touch(frame.kernel, None, frame.names)
    return Touch(frame.kernel, access_of(frame.kernel, frame.reference(node)), frame.names)


def _are_in_one_iteration(touch: Both, within: Sequence[str]) -> bool:
    """Tell whether what is compared is in the same iterations of some loops in both kernels."""
    names = [(touch.old.names[i], touch.new.names[i]) for i in within]
    apart = [unequal_set(ex.Variable(a), ex.Variable(b)) for a, b in names if a != b]
    return all(touch.points.intersect(differ).is_empty() for differ in apart)


def _updates(write: Both) -> bool:
    found = write.old.access, write.new.access
    return any(a is None or a.reference is None or bool(a.reference.update) for a in found)


def _comes_alike(write: Both, read: Both, within: Sequence[str]) -> bool:
    """Tell whether, in one iteration, the same writes of what is read come before it."""
    points = _in_one_iteration(write, read, within)
    sets: list[isl.Set] = []
    for first, second in ((write.old, read.old), (write.new, read.new)):
        found = before(first, second)
        if found is None:
            return False
        sets.append(found.intersect(conflicting(first, second)))
    return bool(points.intersect(sets[0]).is_equal(points.intersect(sets[1])))


def _in_one_iteration(first: Both, second: Both, within: Sequence[str]) -> isl.Set:
    """Return the pairs in the same iteration of some loops, which both kernels have."""
    same = (equal_set(*(ex.Variable(b.new.names[i]) for b in (first, second))) for i in within)
    return reduce(isl.Set.intersect, same, first.points.intersect(second.points))


def ordered_alike(first: Both, second: Both, within: Sequence[str] = ()) -> bool:
    """Tell whether, of instances that may touch one element, the same ones come first."""
    points = _in_one_iteration(first, second, within)
    points = points.intersect(conflicting(first.old, second.old))
    points = points.intersect(conflicting(first.new, second.new))
    if points.is_empty():
        return True
    was, now = before(first.old, second.old), before(first.new, second.new)
    if was is None or now is None:
        return False
    return bool(points.intersect(was).is_equal(points.intersect(now)))


def conflicting(first: Touch, second: Touch) -> isl.Set:
    """Return the pairs that may touch one element, copies not told apart."""
    assert first.access is not None  # nothing comes after the end
    if second.access is None:
        return universe()
    if not in_conflict(first.kernel, first.access, second.access):
        return universe().complement()
    pairs = conflict(first.kernel, first.access, second.access).pairs
    return _named(pairs, first, second)


def before(first: Touch, second: Touch) -> isl.Set | None:
    """Return the pairs, of one copy, of which the first comes first; None if that is not known."""
    assert first.access is not None
    if second.access is None:
        return universe()
    ids = first.access.insn_id, second.access.insn_id
    copy = same_copy(first.kernel, ids, first.access.name, UNMOVED)
    if not (copy.certain and copy.complete):
        return None
    pieces = moments(first.kernel).before(first.access, second.access)
    found = [piece_set(copy.possible, piece) for piece in pieces]
    return _named(reduce(isl.Set.union, found, universe().complement()), first, second)


def _named(pairs: isl.Set, first: Touch, second: Touch) -> isl.Set:
    """Return pairs with the names of the context."""
    others = {iname + OTHER: name for iname, name in second.names.items()}
    return renamed_by(pairs, {**first.names, **others})
