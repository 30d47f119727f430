"""Parallel loops on threads: when it pays to start them, and who gets which iterations.

How much a loop does is estimated by how often what is innermost in it is executed.  Bounds that are
data are taken for rows of a sparse matrix, bounds that depend on loops around for triangles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.lower.address import simplify
from polygen.lower.neighbours import nodes_in
from polygen.lower.program import Assign, Block, Call, Declare, If, Loop, Verbatim
from polygen.targets.expressions.typed_terms import PRODUCT, SUM
from polygen.targets.statements.expression_printer import ExpressionPrinter

_OF_DATA = 256  # iterations of a loop whose bounds are data
_UNSEEN = 1 << 15  # what a function does, or C of the user's
_A_SIZE = 64  # what a size is at least, where one thing is more than another if it is
_MANY = 64  # iterations: of a loop with fewer, one that is not full counts
_PARTS = 256  # in how many parts iterations are handed out that do not all do the same


@dataclass(frozen=True, slots=True)
class Count:
    """A product: how often something is executed.

    Attributes:
        number: the product of what is known.
        factors: the others.
        most: numbers among those of `number` that loops over points of tiles have at most, and what
            they have if there is one tile alone.
    """

    number: int = 1
    factors: tuple[Expression, ...] = ()
    most: tuple[tuple[int, Expression], ...] = ()

    def __mul__(self, other: Count) -> Count:
        return Count(
            self.number * other.number, self.factors + other.factors, self.most + other.most
        )

    def refined(self) -> Count:
        """Return the product for tiles that may not be full."""
        number, factors = self.number, self.factors
        for most, length in self.most:
            number, factors = number // most, (*factors, ex.Min((most, length)))
        return Count(number, factors)


class Threads:
    """The clauses of a parallel loop.

    Parameters:
        loops: those that run in parallel together, outermost first.
        names: prints sizes, and tells them from data.
    """

    def __init__(self, loops: Sequence[Loop], names: ExpressionPrinter) -> None:
        self._names = names
        self._loops = loops
        self._parallel = {loop.iname for loop in loops}
        self._declared = {n.name for n in nodes_in(loops[0].body) if isinstance(n, Declare)}
        self._counts: dict[str, Count] = {}
        self._irregular = False
        self._tiles = self._of_two_versions()
        self._work = _most(self._in_loop(loops[0]))

    def mentioned(self, fewest: int) -> frozenset[str]:
        """Return the names that the condition mentions.

        Parameters:
            fewest: how often what is innermost has to be executed.
        """
        counts = [_asked(count, fewest)[0] for count in self._work]
        factors = [factor for count in counts for factor in count.factors]
        return NO_NAMES.union(*map(walk.free_variables, factors))

    def condition(self, fewest: int) -> str | None:
        """Return when threads are worth it; nothing if always, None if never.

        Parameters:
            fewest: how often what is innermost has to be executed.
        """
        if not fewest or any(not c.factors and c.number >= fewest for c in self._work):
            return ""
        open_ = [count for count in self._work if count.factors]
        return " || ".join([self._enough(count, fewest) for count in open_]) or None

    def _enough(self, count: Count, fewest: int) -> str:
        asked, least = _asked(count, fewest)
        return f"{self._text(asked.factors, SUM)} >= {least}"

    def part(self) -> str:
        """Return how many iterations threads take at a time; nothing if all do as much."""
        if not self._irregular:
            return ""
        total = Count()
        for loop in self._loops:
            total *= self._counts[loop.iname]
        if not total.factors:
            return str(1 + total.number // _PARTS)
        factors = total.factors if total.number == 1 else (*total.factors, total.number)
        return f"1 + {self._text(factors, PRODUCT)} / {_PARTS}"

    def _text(self, factors: Sequence[Expression], level: int) -> str:
        terms = [self._names.index(factor) for factor in factors]
        if len(terms) == 1:
            return terms[0].within(level)
        return " * ".join(["1LL", *(term.within(PRODUCT + 1) for term in terms)])

    # --- how much is done

    def _in_loop(self, loop: Loop) -> list[Count]:
        self._counts[loop.iname] = count = self._iterations(loop)
        return [count * each for each in self._in_block(loop.body)]

    def _in_block(self, block: Block) -> list[Count]:
        found = [Count(max(1, sum(isinstance(node, Assign) for node in block)))]
        for node in block:
            if isinstance(node, Loop):
                found += self._in_loop(node)
            elif isinstance(node, If):
                found += self._in_block(node.body)
            elif isinstance(node, Call | Verbatim):
                found.append(Count(_UNSEEN))
        return _most(found)

    def _iterations(self, loop: Loop) -> Count:
        length = _length(loop) if loop.estimate is None else loop.estimate
        if self._relates_loops(loop):
            self._irregular = True
        if loop.iname in self._tiles:
            most, alone = self._tiles[loop.iname]
            return Count(most, (), ((most, alone),))
        if isinstance(length, int):
            number = max(1, -(-length // loop.step))
            return Count(number, (), self._in_one_tile(loop, number))
        names = walk.free_variables(length)
        around = [self._counts[name] for name in sorted(names) if name in self._counts]
        known = names.isdisjoint(self._declared) and all(map(self._names.is_index, names))
        if not known or not names.isdisjoint(self._parallel):
            self._irregular = True
        if not known:
            return Count(_OF_DATA)
        if around:
            return max(around, key=lambda c: (len(c.factors), c.number))
        return Count(1, (length if loop.step == 1 else ex.floor_quotient(length, loop.step),))

    def _in_one_tile(self, loop: Loop, most: int) -> tuple[tuple[int, Expression], ...]:
        """Return how long a loop is if those around have one iteration: it may be no full tile."""
        first = dict.fromkeys(self._counts, 0)
        for apart in _apart(loop):
            if (
                loop.step > 1
                or most == 1
                or self._counts.keys().isdisjoint(walk.free_variables(apart))
            ):
                continue
            length = simplify(walk.substitute(apart, first))
            names = walk.free_variables(length)
            known = names.isdisjoint(self._declared) and all(map(self._names.is_index, names))
            if names and known:
                return ((most, length),)
        return ()

    def _of_two_versions(self) -> dict[str, tuple[int, Expression]]:
        """Return the loops that are written for full tiles, and once more for others.

        Of each, its length in a full tile, and in the first tile where that is no full one.
        """
        full = dict[str, int]()
        alone = dict[str, Expression]()

        def look(loop: Loop, around: tuple[str, ...]) -> None:
            lengths = [_first_length(apart, around) for apart in _apart(loop)]
            numbers = [length for length in lengths if isinstance(length, int)]
            open_ = [length for length in lengths if self._is_of_sizes(length)]
            if numbers:
                full[loop.iname] = max(full.get(loop.iname, 0), *numbers)
            elif len(open_) == 1 and around:
                alone.setdefault(loop.iname, open_[0])
            for node in _loops_in(loop.body):
                look(node, (*around, loop.iname))

        look(self._loops[0], ())
        return {i: (full[i], alone[i]) for i in alone if full.get(i, 0) >= _MANY}

    def _is_of_sizes(self, length: Expression) -> bool:
        names = walk.free_variables(length)
        return names.isdisjoint(self._declared) and all(map(self._names.is_index, names))

    def _relates_loops(self, loop: Loop) -> bool:
        """Tell whether a bound depends on several parallel loops: tiles of a triangle are none."""
        ends = (*_starts(loop), *_stops(loop))
        return any(len(self._parallel & walk.free_variables(end)) > 1 for end in ends)


def _first_length(apart: Expression, around: Sequence[str]) -> Expression:
    """Return a distance of bounds in the first iteration of all loops around."""
    return simplify(walk.substitute(apart, dict.fromkeys(around, 0)))


def _loops_in(block: Block) -> Iterator[Loop]:
    """Yield the outermost loops in a block, whatever conditions they are under."""
    for node in block:
        if isinstance(node, Loop):
            yield node
        elif isinstance(node, If):
            yield from _loops_in(node.body)


def _asked(count: Count, fewest: int) -> tuple[Count, int]:
    """Return what a condition asks about, and of how much of it there has to be."""
    least = max(2, -(-fewest // count.number))  # one iteration needs one thread
    if least < _MANY and count.most and len(count.factors) > 1:
        count = count.refined()
        least = max(2, -(-fewest // count.number))
    return count, least


def _most(counts: Sequence[Count]) -> list[Count]:
    """Leave out what is no more than something else, if sizes are not small."""
    left = sorted(dict.fromkeys(counts), key=lambda c: (len(c.factors), c.number), reverse=True)
    found: list[Count] = []
    for count in left:
        if not any(_is_more(other, count) for other in found):
            found.append(count)
    return found


def _is_more(count: Count, other: Count) -> bool:
    lacking = list(count.factors)
    for factor in other.factors:
        if factor not in lacking:
            return len(count.factors) > len(other.factors)
        lacking.remove(factor)
    return other.number <= count.number * math.pow(_A_SIZE, len(lacking))


def _length(loop: Loop) -> Any:
    """Return how far a loop's bounds are apart: a number if it is never more than that."""
    apart = _apart(loop)
    numbers = [length for length in map(_largest, apart) if isinstance(length, int)]
    return min(numbers) if numbers else apart[0]


def _apart(loop: Loop) -> list[Any]:
    """Return how far each of a loop's ends is from each of its beginnings."""
    starts, ends = _starts(loop), _stops(loop)
    return [simplify(ex.sum_of(end, ex.negated(start))) for end in ends for start in starts]


def _starts(loop: Loop) -> Sequence[Expression]:
    """Return what a loop begins with the greatest of."""
    return loop.lower.children if isinstance(loop.lower, ex.Max) else (loop.lower,)


def _stops(loop: Loop) -> Sequence[Expression]:
    """Return what a loop ends before the least of."""
    return loop.upper.children if isinstance(loop.upper, ex.Min) else (loop.upper,)


def nest(loop: Loop, count: int) -> Iterator[Loop]:
    """Yield so many loops, each directly inside of the one before."""
    yield loop
    if count > 1:
        for inner in loop.body:  # declared around the next one: names for the same indices
            if isinstance(inner, Loop):
                yield from nest(inner, count - 1)


def _largest(length: Any) -> Any:
    """Return what ``(n + 7) / 8 - n / 8`` is at most: a number; any other length as it is."""
    if not isinstance(length, ex.Sum) or len(length.children) != 2:
        return length
    for last, first in (length.children, length.children[::-1]):
        positive: Any = simplify(ex.negated(first))
        if not isinstance(last, ex.FloorDiv) or not isinstance(positive, ex.FloorDiv):
            continue
        apart = simplify(ex.sum_of(last.numerator, ex.negated(positive.numerator)))
        by = last.denominator
        if isinstance(apart, int) and isinstance(by, int) and by == positive.denominator:
            return -(-apart // by)
    return length
