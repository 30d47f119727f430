"""Random kernels that are well formed by construction.

Every instruction writes an array of its own, each instance another element, and depends on those
whose results it reads.  So the result does not depend on any order that is left open, and which
loops carry something is known.  Numbers are small integers, of which sums are exact.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import polygen as pg
from polygen.errors import DependencyCycle, NoLoopNest
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.properties.expressions import OFFSET, Expressions, Source
from tests.properties.ranges import FIRST, NEXT

EXTENT = f"n + m + {OFFSET + 12}"


@dataclass
class Case:
    """A kernel, and what may be done to it.

    Attributes:
        serial: inames whose iterations must run upward, one after the other.
        ordered: inames that may be parallel, but if not, must run upward.
        reduced: inames of reductions.
        by_data: inames whose number of values is only known when the kernel runs.
    """

    kernel: Kernel
    serial: set[str]
    ordered: set[str]
    reduced: set[str]
    by_data: set[str]


@dataclass
class Generator:
    """Makes a kernel; `random` makes each choice."""

    random: random.Random
    domains: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    arrays: list[pg.GlobalArg] = field(default_factory=list)
    finished: list[Source] = field(default_factory=list)
    present: list[Source] = field(default_factory=list)
    bounds: dict[str, Source] = field(default_factory=dict)
    serial: set[str] = field(default_factory=set)
    ordered: set[str] = field(default_factory=set)
    reduced: set[str] = field(default_factory=set)
    _count: int = 0

    def case(self) -> Case:
        """Return a kernel of one or two loop nests, the second reading what the first wrote."""
        for letters in ("ijk", "pqr")[: self.random.choice((1, 1, 2))]:
            self._nest(letters[: self.random.choice((1, 2, 2, 3))])
        inputs = [
            pg.GlobalArg("fa", "float64", (9,)),
            pg.GlobalArg("fb", "float32", (EXTENT, 5)),
            pg.GlobalArg("ia", "int32", (9,)),
            pg.GlobalArg("ib", "int32", (EXTENT, 5)),
            pg.GlobalArg("count", "int32", (EXTENT,)),
        ]
        knl = self._kernel([*inputs, *self.arrays])
        return Case(knl, self.serial, self.ordered, self.reduced, set(self.bounds))

    def _kernel(self, data: list[pg.GlobalArg]) -> Kernel:
        known = "n >= 0 and m >= 0"
        text = "\n".join(self.lines)
        try:
            return kernel(self.domains, text, *data, assumptions=known)
        except (DependencyCycle, NoLoopNest):  # no execution is permitted
            with pg.without_proofs():
                return kernel(self.domains, text, *data, assumptions=known)

    def new(self, prefix: str) -> str:
        """Return a name that nothing has yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    # --- loops

    def _nest(self, names: str) -> None:
        self.present = []
        parts = [self.random.choice(FIRST).format(x=names[0])]
        for at, name in enumerate(names[1:], 1):
            if self.random.random() < 0.15:
                self._bound_by_data(name, names[:at])
                parts.append(f"0<={name}<{self.bounds[name].name}")
            else:
                outer = self.random.choice(names[:at])
                parts.append(self.random.choice(NEXT).format(x=name, y=outer))
        if self.bounds.keys().isdisjoint(names) and self.random.random() < 0.5:
            self.domains.append(f"{{ [{','.join(names)}]: {' and '.join(parts)} }}")
        else:
            self.domains += [f"{{ [{x}]: {p} }}" for x, p in zip(names, parts, strict=True)]
        for _ in range(self.random.randint(1, 4)):
            self._statement(tuple(names))
        self.finished += self.present

    def _bound_by_data(self, iname: str, outer: str) -> None:
        inames = tuple(outer[: self.random.randint(1, len(outer))])
        source = Source(self.new("c"), inames, "int", scalar=True)
        deps = {self.bounds[i].name for i in inames if i in self.bounds}
        self._line(
            f"<int32> {source.name}", f"count[{inames[-1]} + {OFFSET}]", source, inames, deps
        )
        self.bounds[iname] = source

    def bound(self, iname: str, domain: str, source: Source | None) -> None:
        """Add the domain of a reduction, bounded by a value that is computed if one is given."""
        self.domains.append(f"{{ [{iname}]: {domain} }}")
        self.reduced.add(iname)
        if source is not None:
            self.bounds[iname] = source

    # --- statements

    def _statement(self, names: tuple[str, ...]) -> None:
        depth = self.random.choice((len(names), len(names), self.random.randint(0, len(names))))
        inames = names[:depth]
        kind = self.random.choice(("float", "float", "int"))
        values = Expressions(self, inames, kind)
        choice = self.random.random()
        if choice < 0.15 and inames:
            source = Source(self.new("t"), inames, kind, scalar=True)
            target = f"<{'int64' if kind == 'int' else 'float64'}> {source.name}"
            self._line(target, values.expression(2), source, inames, values.needed)
        elif choice < 0.3 and len(inames) > 1:
            # x[i] = value - x[i] within i and j: j runs upward
            source = replace(self._array(inames[:-1], kind), repeated=True)
            self.serial.add(inames[-1])
            value = f"({values.expression(2)}) - {source.text}"
            self._line(source.text, value, source, inames, values.needed)
        else:
            source = self._array(inames, kind)
            predicate = values.condition() if self.random.random() < 0.25 else ""
            value = values.expression(3)
            self._line(source.text, value, source, inames, values.needed, predicate)
        self.present.append(source)

    def _array(self, inames: tuple[str, ...], kind: str) -> Source:
        order = tuple(self.random.sample(inames, len(inames)))
        dtype = self.random.choice(("float32", "float64")) if kind == "float" else "int32"
        source = Source(self.new("o"), inames, kind, order=order)
        shape = (EXTENT,) * len(inames) or (2,)
        self.arrays.append(pg.GlobalArg(source.name, dtype, shape))
        return source

    def _line(
        self,
        target: str,
        value: str,
        source: Source,
        inames: tuple[str, ...],
        deps: set[str],
        predicate: str = "",
    ) -> None:
        # An instruction is named after what it writes, in front of which s_ stands.
        needed = deps | {self.bounds[i].name for i in inames if i in self.bounds}
        options = [f"id=s_{source.name}", f"dep=*{':'.join(f's_{d}' for d in sorted(needed))}"]
        options += [f"inames={':'.join(inames)}"] if inames else []
        options += [f"if={predicate}"] if predicate else []
        self.lines.append(f"{target} = {value}  {{{', '.join(options)}}}")
