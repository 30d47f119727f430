"""The last write before each read, and the next one after it, of instances at known times.

    for t
      for i: a[i] = 1        w
      for j: a[2*j] = 2      s
      for k: b[k] = a[k]     r: even elements see s, the others w, of the same iteration of t

A read is compared with one writer after the other, the latest first (`WriteOrder`): what it sees of
a writer is no longer looked for in earlier ones.  So sets stay small, however many writers there
are.  In a loop around both, the iteration before comes first, writer after writer; only what was
not written there is looked for in all earlier iterations at once.  The next write after a read is
the last one before it in reversed time.

What isl is asked mentions positions of inames, and no names: nests that differ in names alone, in
one kernel or in several, share the answers (`polygen.ir.remembered.shared`).

Not with isl's own dataflow analysis (version 0.27).  That asks for last writes, and for reads that
have none, at once (`partial_lexmax`), and where subscripts have coefficients some of the reads that
have none get lost.  Here the reads that are left are found by subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.dataflow.write_order import (
    READER,
    WRITER,
    Node,
    Timed,
    WriteOrder,
    parameters_of,
)
from polygen.analysis.integers.projected_facts import Fact, ProjectedFacts, set_of_facts
from polygen.errors import InternalError
from polygen.ir.domain import intersection, restricted
from polygen.ir.empty import NO_NAMES
from polygen.ir.remembered import shared

# What isl 0.27 says where it fails to find a greatest element, because of constraints on others.
_DEFECT = "affine expression involves some of the domain dimensions"

# Loops around a write, and which of their iterations count: that of the read, the one before it,
# all before it, or the one that a map says.
_SAME, _NEXT, _EARLIER = "same", "next", "earlier"
_Loops: TypeAlias = tuple[tuple[str, str | isl.Map], ...]


def last_writes(
    reader: Timed,
    order: WriteOrder,
    known: ProjectedFacts | None = None,
    *,
    following: bool = False,
) -> tuple[Mapping[int, isl.Map], isl.Set | None]:
    """Return which instances of which writers wrote what a read sees; and other reads.

    Times differ, unless an instruction writes several elements.

    Parameters:
        reader: who reads.
        order: who writes the variable.
        known: what is known of parameters, unless what is read says it; of its own parameters, what
            a writer writes says it.
        following: return the writes that come next after each read instead.

    Returns:
        by the positions of writers, maps from instances of the reader to those of the writer; and
        the instances of the reader that nothing wrote for, None if there are none
    """
    search = _Search(reader, order, -1 if following else 1, known)
    search.run()
    found = {number: pairs.coalesce() for number, pairs in sorted(search.found.items())}
    return found, search.left


class _Search:
    """Goes from a reader to earlier writers, as long as something that is read is not found.

    Attributes:
        found: what is found of each writer.
        left: the instances of the reader for which nothing is found so far; None if there are none.

    Parameters:
        reader: who reads.
        order: who writes.
        sign: 1 if last writes are looked for, -1 for next ones.
        known: what is known of parameters, if it is too much for each set.
    """

    def __init__(
        self, reader: Timed, order: WriteOrder, sign: int, known: ProjectedFacts | None
    ) -> None:
        self._reader, self._order, self._sign = reader, order, sign
        self._facts = _FactsOfLeft(known, parameters_of(reader))
        self.found: dict[int, isl.Map] = {}
        self._reads = reader.elements.domain()
        self.left: isl.Set | None = self._reads
        if self._facts.first is not None:
            self._reads = self.left = self._reads.intersect_params(self._facts.first)
        # Kinds of writers that wrote nothing of what is left, in some iterations of loops.
        self._apart: dict[_Loops, set[int]] = {}

    def run(self) -> None:
        """Find all that was written, the closer in time the earlier."""
        path = list(self._order.path(self._reader))
        for depth in reversed(range(len(path))):
            node, here = path[depth], self._reader.row[depth]
            loops = tuple([(i, _SAME) for i in self._reader.row[:depth] if not i.isdecimal()])
            if here.isdecimal():
                self._among(node, loops, depth, int(here))
            elif here in node.after:
                self._in_other_iterations(node.after[here], (loops, here), depth)

    def _among(self, node: Node, loops: _Loops, depth: int, here: int | None = None) -> None:
        """Look at what stands at a node, the latest first.

        Parameters:
            node: the node; what comes next in time are numbers.
            loops: the loops around it, and which of their iterations count.
            depth: how long the time is that all of it has.
            here: only what comes before that number counts.
        """
        for number in reversed(node.numbers) if self._sign > 0 else node.numbers:
            if here is None or (here - number) * self._sign > 0:
                self._below(node.after[str(number)], loops, depth + 1)

    def _below(self, node: Node, loops: _Loops, depth: int) -> None:
        """Look at all that is below a node; parameters are those of `_among`."""
        if self._has_nothing(node, loops):
            return
        loop = node.loop()
        if len(node.writers) == 1 or not node.after:  # of one instance, or of one instruction
            for number in node.writers:
                self._take(number, loops, depth)
        elif loop is None:
            self._among(node, loops, depth)
        else:
            self._in_last_iteration(node.after[loop], (loops, loop), depth)

    def _in_other_iterations(self, node: Node, loop: tuple[_Loops, str], depth: int) -> None:
        """Look at earlier iterations of a loop around the reader, that before it first.

        Parameters:
            node: what is in the loop.
            loop: the loops around it, and the loop.
            depth: how long the time outside of it is.
        """
        loops, iname = loop
        if len(node.writers) > 1:
            self._below(node, (*loops, (iname, _NEXT)), depth + 1)
        self._all_at_once(node, (*loops, (iname, _EARLIER)), depth)

    def _in_last_iteration(self, node: Node, loop: tuple[_Loops, str], depth: int) -> None:
        """Look at a loop that the reader is not in, or has left: at its last iteration first.

        Parameters are those of `_in_other_iterations`.
        """
        loops, iname = loop
        last = self._last_iteration(node, loops, iname)
        if last is not None:
            self._below(node, (*loops, (iname, last)), depth + 1)
        self._all_at_once(node, loops, depth)

    def _last_iteration(self, node: Node, loops: _Loops, iname: str) -> isl.Map | None:
        """Return which iteration of a loop is the last one before a read; None if that varies.

        That is the one in which one writer wrote last, if there are no later ones.
        """
        pairs = self._pairs_below(node, loops)
        if not pairs:
            return None
        times = {n: p.apply_range(self._value(n, iname)) for n, p in pairs.items()}
        first = greatest(next(iter(times.values())))
        last = first.gist_domain(first.domain())
        if last.n_basic_map() != 1 or not last.plain_is_single_valued():
            return None
        later = last.apply_range(_LATER)
        return last if all(t.is_disjoint(later) for t in times.values()) else None

    def _all_at_once(self, node: Node, loops: _Loops, depth: int) -> None:
        """Look at all writers below a node, in whichever iterations, as a whole."""
        if self._has_nothing(node, loops):
            return
        if len(node.writers) == 1:
            self._take(node.writers[0], loops, depth)
            return
        pairs = self._pairs_below(node, loops)
        if not pairs:
            return
        times = {n: _time(self._order.writers[n], depth, self._sign) for n in pairs}
        union = reduce(isl.Map.union, [p.apply_range(times[n]) for n, p in pairs.items()])
        # One piece says more to isl than the same in several.
        last = greatest(union.detect_equalities().coalesce())
        for number, each in pairs.items():
            self._note(number, last.apply_range(times[number].reverse()).intersect(each))
        self._found(last.domain(), pairs)

    def _has_nothing(self, node: Node, loops: _Loops) -> bool:
        return self.left is None or node.kinds <= self._apart.get(loops, _NONE)

    def _pairs_below(self, node: Node, loops: _Loops) -> dict[int, isl.Map]:
        found = {number: self._pairs(number, loops) for number in node.writers}
        return {number: pairs[0] for number, pairs in found.items() if pairs is not None}

    def _take(self, number: int, loops: _Loops, depth: int) -> None:
        """Look at one writer; parameters are those of `_among`."""
        pairs = self._pairs(number, loops)
        if pairs is not None:
            seen, written = pairs
            self._note(number, _last(seen, _time(self._order.writers[number], depth, self._sign)))
            self._found(written, (number,))

    def _pairs(self, number: int, loops: _Loops) -> tuple[isl.Map, isl.Set] | None:
        """Return what a writer wrote of what is left, and for which instances; None if nothing."""
        kind, apart = self._order.kinds[number], self._apart.setdefault(loops, set())
        if self.left is None or kind in apart:
            return None
        reader, writer = self._reader, self._order.writers[number]
        ordered = _in_order(reader, writer, loops, self._sign)
        known = self._facts.beyond(self._order.parameters(number), is_told=True)
        found = _seen(reader.elements, writer.elements, ordered, self.left, known)
        if found is None:
            apart.add(kind)  # less will be left, never more
            self._look_whether_any_is_left()
        return found

    def _look_whether_any_is_left(self) -> None:
        if self.left is not None and self.left.is_empty():
            self.left = None

    def _value(self, number: int, iname: str) -> isl.Map:
        """Return the map from a writer's instances to the value of a loop."""
        inames = self._order.writers[number].inames
        return _row(len(inames), (f"d{inames.index(iname)}",), self._sign)

    def _note(self, number: int, pairs: isl.Map) -> None:
        before = self.found.get(number)
        self.found[number] = pairs if before is None else before.union(pairs)

    def _found(self, instances: isl.Set, numbers: Iterable[int]) -> None:
        """Note for which instances of the reader some writers were found."""
        assert self.left is not None
        names = NO_NAMES.union(*(self._order.parameters(number) for number in numbers))
        known = self._facts.beyond(names, is_told=False)
        self._facts.add(names)
        self.left = _without(self.left, instances, self._reads, known)


class _FactsOfLeft:
    """Facts about the parameters that the remaining reads mention.

    Parameters:
        known: all that is known, if not all of it is said of these reads.
        names: the parameters that they mention first.
    """

    def __init__(self, known: ProjectedFacts | None, names: frozenset[str]) -> None:
        self._known, self._names = known, names
        self._facts = frozenset[Fact]() if known is None else known.about(names)
        self.first = None if known is None else set_of_facts(self._facts)

    def beyond(self, names: frozenset[str], *, is_told: bool) -> isl.Set | None:
        """Return what else is known, if other parameters are mentioned, too; None if nothing.

        Parameters:
            names: the parameters.
            is_told: whether what is known of these alone is said already.
        """
        if self._known is None or names <= self._names:
            return None
        facts = self._known.about(self._names | names) - self._facts
        facts -= self._known.about(names) if is_told else frozenset()
        return set_of_facts(facts) if facts else None

    def add(self, names: frozenset[str]) -> None:
        """Note that other parameters are mentioned."""
        if self._known is not None and not names <= self._names:
            self._names |= names
            self._facts = self._known.about(self._names)


# --- what isl is asked


def _time(writer: Timed, depth: int, sign: int) -> isl.Map:
    """Return the map from a writer's instances to their time, from some entry of it on."""
    places = {iname: f"d{place}" for place, iname in enumerate(writer.inames)}
    entries = tuple([places.get(entry, entry) for entry in writer.row[depth:]])
    return _row(len(writer.inames), entries, sign)


@lru_cache(maxsize=4096)
def _row(count: int, entries: tuple[str, ...], sign: int) -> isl.Map:
    inames = ", ".join([f"d{place}" for place in range(count)])
    row = ", ".join([entry if sign > 0 else f"-{entry}" for entry in entries])
    return isl.Map(f"{{ {WRITER}[{inames}] -> [{row}] }}")


def _in_order(reader: Timed, writer: Timed, loops: _Loops, sign: int) -> isl.Map | None:
    """Return the pairs of a read and a write in certain iterations; None if all count."""
    if not loops:
        return None
    here = {iname: place for place, iname in enumerate(reader.inames)}
    there = {iname: place for place, iname in enumerate(writer.inames)}
    iterations = tuple([(here.get(iname, -1), there[iname], which) for iname, which in loops])
    return _ordered(len(reader.inames), len(writer.inames), iterations, sign)


@lru_cache(maxsize=4096)
def _ordered(
    reader: int, writer: int, loops: tuple[tuple[int, int, str | isl.Map], ...], sign: int
) -> isl.Map:
    here, there = ([f"{x}{place}" for place in range(n)] for x, n in (("r", reader), ("w", writer)))
    conditions = [
        {
            _SAME: f"w{write} = r{read}",
            _NEXT: f"w{write} = r{read} - {sign}",
            _EARLIER: f"w{write} {'<' if sign > 0 else '>'} r{read}",
        }[which]
        for read, write, which in loops
        if isinstance(which, str)
    ]
    text = f"{READER}[{', '.join(here)}] -> {WRITER}[{', '.join(there)}]"
    found = isl.Map(f"{{ {text}{' : ' if conditions else ''}{' and '.join(conditions)} }}")
    for _, write, which in loops:
        if not isinstance(which, str):
            found = found.intersect(which.apply_range(_row(writer, (f"d{write}",), sign).reverse()))
    return found


@shared
def _seen(
    reads: isl.Map,
    writes: isl.Map,
    ordered: isl.Map | None,
    left: isl.Set,
    known: isl.Set | None,
) -> tuple[isl.Map, isl.Set] | None:
    """Return the pairs of what is left and writes of it, and the reads of all pairs; or None."""
    pairs = reads.apply_range(writes.reverse())
    if ordered is not None:
        pairs = pairs.intersect(ordered)
    every = pairs.domain()
    seen = pairs.intersect_domain(left if known is None else restricted(left, known))
    return None if seen.is_empty() else (seen, every)


@shared
def _last(pairs: isl.Map, time: isl.Map) -> isl.Map:
    """Return the pairs with the last write of each read."""
    if _is_plain(pairs):
        return pairs
    # One piece says more to isl than the same in several.
    last = greatest(pairs.apply_range(time).detect_equalities().coalesce())
    return last.apply_range(time.reverse()).intersect(pairs)


def _is_plain(pairs: isl.Map) -> bool:
    """Tell whether it shows that each read is in one pair only."""
    return bool(pairs.plain_is_single_valued())


@shared
def _without(
    left: isl.Set, found: isl.Set, reads: isl.Set, known: isl.Set | None
) -> isl.Set | None:
    """Return the reads that are left without some; None if there are none, as far as it is plain.

    Parameters:
        left: these reads.
        found: the others.
        reads: all reads: a smaller set than what is left of them, and so cheaper to subtract from.
        known: what is known of the parameters of `found`.
    """
    if known is not None:
        reads = restricted(reads, known)
    others = reads.subtract(found)
    if others.plain_is_empty():
        return None
    if others.n_basic_set() == 1:
        return intersection(left, others)
    rest = left.intersect(others)
    return None if rest.is_empty() else rest.coalesce()


def greatest(times: isl.Map) -> isl.Map:
    """Return the greatest time of each read."""
    wanted = times.domain()
    for find in (isl.Map.lexmax, _none_greater):  # isl fails at some, and loses others
        found = _tried(find, times)
        if found is not None and wanted.is_subset(found.domain()):
            return found
    raise InternalError("isl loses the last of some writes")


def _tried(find: Callable[[isl.Map], isl.Map], times: isl.Map) -> isl.Map | None:
    try:
        found: isl.Map = find(times)
    except isl.Error as error:
        if _DEFECT not in str(error):
            raise
        return None
    return found


def _none_greater(times: isl.Map) -> isl.Map:
    """Return the greatest times by what that means: no other time of the same read is greater."""
    greater = isl.Map.lex_gt(times.get_space().range())
    return times.subtract(times.apply_range(greater))


_LATER = isl.Map("{ [v] -> [w] : w > v }")
_NONE: frozenset[int] = frozenset()
