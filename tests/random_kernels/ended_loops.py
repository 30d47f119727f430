"""Loops of random kernels that a condition ends: `while` at the head, `break` inside.

What is counted down ends them for certain; the rest is any expressions of what was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tests.random_kernels.expressions import Expressions
from tests.random_kernels.nest import Line, Nest
from tests.random_kernels.sources import Source
from tests.random_kernels.values import Value, largest

_INT32 = np.dtype(np.int32)


def ended_loop(nest: Nest) -> None:
    """Add a loop that a condition ends, and what it leaves: a scalar, and an array of sums."""
    maker, inames = nest.maker, nest.inames()
    left, begin = maker.new("t"), maker.new("s")
    values = nest.expressions(inames)
    line = Line(
        f"<int32> {left} = int32({values.of('i', 2).text}) & 7", begin, inames, values.needed
    )
    nest.add(line)
    loop = _Loop(nest, inames, left, begin)
    maker.lines += loop.lines()
    scalar = Value(left, _INT32, 16)
    writers = frozenset({begin, loop.down})
    maker.sources += [*loop.sources, Source(left, scalar, inames, (), writers, True, False)]


class _Loop:
    """The lines of a loop."""

    def __init__(self, nest: Nest, inames: tuple[str, ...], left: str, begin: str) -> None:
        self.nest, self.maker = nest, nest.maker
        self.inames, self.left, self.begin = inames, left, begin
        self.iname, self.down = self.maker.new("w"), self.maker.new("s")
        self.sources: list[Source] = []
        self.ends = False  # for certain

    def lines(self) -> list[str]:
        """Return the lines, those around the loop too."""
        maker = self.maker
        outer = maker.random.choice((*self.inames, "2"))
        bounds = ("", "", "<6", "<n", f"<={outer}")
        maker.domains.append(f"{{ [{self.iname}]: 0<={self.iname}{maker.random.choice(bounds)} }}")
        around = [f"for {', '.join(self.inames)}"] * bool(self.inames)
        head = f"for {self.iname}{self._condition()}"
        return [*around, head, *self._body(), "end", *["end"] * len(around)]

    def _condition(self) -> str:
        if self.maker.chance(0.3):
            return ""
        self.ends = True
        more = self._asked()
        return f" while {self.left} > 0{f' and {more}' if more else ''}"

    def _asked(self) -> str:
        """Return a condition of inputs, or nothing."""
        if self.maker.chance(0.5):
            return ""
        return self.nest.expressions(self.inames).input("b").text

    def _body(self) -> Iterator[str]:
        step, values = self._expressions()
        less = f"{self.left} = {self.left} - 1 - (int32({step}) & 1)"
        yield self._line(less, self.down, {self.begin}, values)
        if self.maker.chance(0.4):
            yield from self._summed()
        if not self.ends:
            yield f"break if {self.left} <= 0"
        if self.maker.chance(0.6):
            yield from self._break()
        yield from self._summed()

    def _break(self) -> Iterator[str]:
        condition = f"{self.left} % 4 == {self.maker.random.randrange(4)}"
        if self.maker.chance(0.5):
            more = self._asked()
            yield f"break if {condition}{f' or {more}' if more else ''}"
            return
        yield from (f"if {condition}", "break", "end")

    def _summed(self) -> Iterator[str]:
        """Yield an update of an element, perhaps under a condition."""
        line_id = self.maker.new("s")
        zero = Value("0", _INT32, 16)
        target, source = self.nest.target(zero, self.inames, line_id)
        source.repeated = True
        dtype = source.value.dtype
        source.value = Value(source.name, dtype, largest(dtype))
        self.sources.append(source)
        text, values = self._expressions()
        update = self.maker.random.choice(("+=", "-=", "^="))
        text = f"{target} {update} {dtype.name}(int32({text}) + {self.left} + {self.iname})"
        has_condition = self.maker.chance(0.4)
        if has_condition:
            yield f"if {self.left} > 2"
        yield self._line(text, line_id, {self.down}, values)
        if has_condition:
            yield "end"

    def _expressions(self) -> tuple[str, Expressions]:
        """Return the text of an integer, and what made it."""
        values = self.nest.expressions(self.inames)
        return values.of("i", 2).text, values

    def _line(self, text: str, line_id: str, before: Iterable[str], values: Expressions) -> str:
        nest, inames = self.nest, (*self.inames, self.iname)
        nest.ids[line_id] = self.maker.ids[line_id] = inames
        needed = {*before, *values.needed}.union(*(nest.bounds.get(i, ()) for i in self.inames))
        needed |= {nest.fence} if nest.fence else set()
        order = "" if self.maker.in_sequence else f", dep={':'.join(sorted(needed))}"
        return f"{text}  {{id={line_id}{order}}}"
