"""A loop nest of a random kernel, and the lines of its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import polygen as pg
from tests.properties.ranges import FIRST, NEXT
from tests.random_kernels.expressions import COMPLEX, INTEGERS, KINDS, REALS, Expressions
from tests.random_kernels.sources import Source
from tests.random_kernels.values import Value, computed

if TYPE_CHECKING:
    from tests.random_kernels.maker import Maker

_FIRST = (*FIRST, "0<={x}<n+2 and exists(e: {x} = 3*e + 1)")
_NEXT = (*NEXT, "(0<={x}<{y} or {x}={y}+1)")
_SCOPES = ("", "@any", "@local", "@global")
STORED = {
    "i": INTEGERS,
    "f": REALS,
    "c": COMPLEX,
    "b": ("bool",),
}


@dataclass
class Line:
    """An instruction.

    Attributes:
        text: all but the options.
        id: its id.
        inames: the loops that it is in.
        needed: ids of instructions that come before it.
        predicate: a condition, or nothing.
        options: others.
        bare: whether its inames can be seen.
    """

    text: str
    id: str
    inames: tuple[str, ...]
    needed: set[str]
    predicate: str = ""
    options: tuple[str, ...] = ()
    bare: bool = False


@dataclass
class Nest:
    """A loop nest in the making.

    Attributes:
        names: its loops, outermost first.
        fence: the id of a barrier that all comes after, or nothing.
    """

    maker: Maker
    names: tuple[str, ...]
    fence: str
    bounds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # ids of what does
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def __post_init__(self) -> None:
        self._style = self.maker.random.choice(("options", "options", "for", "with"))
        self._loops()

    def close(self) -> str:
        """End the nest; return the id of a barrier behind it, if there is one."""
        for source in self.maker.sources:
            source.open = False
        if not self.maker.chance(0.15) or self.maker.in_sequence:
            return ""
        fence = self.maker.new("s_fence")
        kind = self.maker.random.choice(("gbarrier", "nop"))
        self.maker.lines.append(f"... {kind} {{id={fence}, dep=*{':'.join(self.ids)}, inames=}}")
        return fence

    # --- loops

    def _loops(self) -> None:
        r = self.maker.random
        parts: list[str] = []
        for at, name in enumerate(self.names):
            outer = r.choice(self.names[:at] or ("n",))
            part = r.choice(_NEXT if at else _FIRST).format(x=name, y=outer)
            if at and self.maker.chance(0.15):
                part = f"0<={name}<{self._bound_by_data(name, self.names[:at])}"
                if self.maker.chance(0.4):
                    lower = self._bound_by_data(name, self.names[:at])
                    part = f"{lower}<={part.removeprefix('0<=')}+{lower}"
            parts.append(part)
        if not self.bounds and self.names and self.maker.chance(0.5):
            self.maker.domains.append(f"{{ [{','.join(self.names)}]: {' and '.join(parts)} }}")
        else:
            pairs = zip(self.names, parts, strict=True)
            self.maker.domains += [f"{{ [{x}]: {part} }}" for x, part in pairs]

    def _bound_by_data(self, iname: str, outer: tuple[str, ...]) -> str:
        inames = outer[: self.maker.random.randint(self._least(), len(outer))]
        name = self.maker.new("c")
        self.maker.data["count"] = pg.GlobalArg("count", "int32", (self.maker.EXTENT,))
        text = f"<int32> {name} = count[{inames[-1]} + {self.maker.OFFSET}]"
        line = Line(text, f"s_{name}", inames, set())
        self.add(line)
        value = computed(name, np.dtype(np.int32), 4, 0)
        self.maker.sources.append(
            Source(name, value, inames, (), frozenset({line.id}), True, False, bounds=True)
        )
        self.bounds.setdefault(iname, set()).add(line.id)
        return name

    def _least(self) -> int:
        """Return how many loops at least what computes a bound is in.

        In a sequence, what is outside of a loop would come between its instructions.
        """
        return max(map(len, self.ids.values()), default=1) if self.maker.in_sequence else 1

    # --- what statements ask for

    def inames(self, least: int = 0) -> tuple[str, ...]:
        """Return the loops of an instruction."""
        count = len(self.names)
        if self.maker.in_sequence:  # see `_least`
            return self.names
        depth = self.maker.random.choice((count, count, self.maker.random.randint(0, count)))
        return self.names[: max(depth, min(least, count))]

    def kind(self) -> str:
        """Return a kind of values."""
        return self.maker.random.choice(KINDS)

    def expressions(self, inames: tuple[str, ...]) -> Expressions:
        """Return what makes the expressions of an instruction."""
        return Expressions(self.maker, inames)

    def target(self, value: Value, inames: tuple[str, ...], line_id: str) -> tuple[str, Source]:
        """Return an element of a new array for a value, and what can be read of it."""
        maker = self.maker
        order = tuple(maker.random.sample(inames, len(inames)))
        dtype = self.storage(value)
        name = maker.output(dtype.name, len(inames))
        most = max(value.most, 1 if dtype.kind == "b" else 16)
        stored = computed(name, dtype, most, value.error)
        source = Source(name, stored, inames, order, frozenset({line_id}))
        return source.at([f"{i} + {maker.OFFSET}" for i in order]), source

    def storage(self, value: Value) -> np.dtype[Any]:
        """Return a type that a value may be stored as."""
        types = [np.dtype(name) for name in STORED[value.kind]]
        return self.maker.random.choice(
            [t for t in types if np.can_cast(value.dtype, t, "same_kind")]
        )

    def add(self, line: Line, *sources: Source) -> None:
        """Add a line to the text, and what it writes to what can be read."""
        line.needed = line.needed.union(*(self.bounds.get(i, ()) for i in line.inames))
        line.needed |= {self.fence} if self.fence else set()
        self.maker.lines += self._text(line)
        self.maker.sources += sources
        self.ids[line.id] = self.maker.ids[line.id] = line.inames

    def _dependencies(self, line: Line) -> list[str]:
        """Return options that say what a line comes after: ids, patterns of them, and queries."""
        maker = self.maker
        known = [] if line.bare else sorted(n for n in line.needed if n in maker.ids)
        asked = {name for name in known if maker.chance(0.15)}
        listed = [
            f"?{name[1:]}" if re.fullmatch(r"s\d+", name) and maker.chance(0.15) else name
            for name in sorted(line.needed - asked)
        ]
        star = "*" if maker.chance(0.7) or not listed else ""
        query = " or ".join(map(self._query, sorted(asked)))
        return [f"dep={star}{':'.join(listed)}", *([f"dep_query={query}"] if asked else [])]

    def _query(self, insn_id: str) -> str:
        """Return a query that matches one instruction."""
        maker = self.maker
        written = [s.name for s in maker.sources if insn_id in s.writers]
        others = [f"writes:{name}" for name in written[:1]]
        others += [f"iname:{iname}" for iname in maker.ids[insn_id]]
        if not others or maker.chance(0.3):
            return maker.random.choice((insn_id, f"id:{insn_id}"))
        return f"(id:{insn_id} and {maker.random.choice(('', 'not not '))}{others[0]})"

    def _no_sync(self) -> str:
        """Return an option that asks for no barrier; in loops, none would be needed."""
        maker = self.maker
        known, scope = maker.random.choice(list(maker.ids)), maker.random.choice(_SCOPES)
        if maker.chance(0.5):
            return f"nosync={known}{scope}"
        return f"nosync_query={self._query(known)}{scope}"

    def _text(self, line: Line) -> list[str]:
        maker = self.maker
        options = [f"id={line.id}", *line.options]
        if not maker.in_sequence and (line.needed or maker.chance(0.5)):
            options += self._dependencies(line)
        if maker.ids and maker.chance(0.15):
            options.append(self._no_sync())
        more = ("", "", "", "tags=odd", "priority=3", *(() if line.options else ("groups=g",)))
        options += filter(None, [maker.random.choice(more)])
        around: list[str] = []
        if line.predicate and maker.chance(0.5):
            around.append(f"if {line.predicate}")
        elif line.predicate:
            options.append(f"if={line.predicate}")
        if line.inames and self._style == "for":
            around.insert(0, f"for {', '.join(line.inames)}")
        elif not (line.bare and maker.chance(0.5)):
            inames = f"inames={':'.join(line.inames)}"
            if self._style == "with" and line.inames:
                around.append(f"with {{{inames}}}")
            else:
                options.append(inames)
        return [*around, f"{line.text}  {{{', '.join(options)}}}", *["end"] * len(around)]
