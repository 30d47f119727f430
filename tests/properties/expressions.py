"""Random expressions as text, with what the instruction then depends on."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Protocol

OFFSET = 8  # added to inames in subscripts: they may be as low as -3


@dataclass(frozen=True)
class Source:
    """What an instruction wrote, for later ones to read.

    Attributes:
        name: the variable.
        inames: those whose values tell elements apart, outermost first.
        kind: ``"int"`` or ``"float"``.
        order: the same inames in the order of the subscripts.
        scalar: whether it is a private scalar.
        repeated: whether more inames are around it, so that it is written again and again.
    """

    name: str
    inames: tuple[str, ...]
    kind: str
    order: tuple[str, ...] = ()
    scalar: bool = False
    repeated: bool = False

    def at(self, **values: str) -> str:
        """Return the element for values of the inames, by default for those of the reader."""
        if self.scalar:
            return self.name
        index = [f"{values.get(i, i)} + {OFFSET}" for i in self.order]
        return f"{self.name}[{', '.join(index) or '1'}]"

    @property
    def text(self) -> str:
        """The element that the instance writes."""
        return self.at()


class Maker(Protocol):
    """What expressions need to know of the kernel in the making."""

    random: random.Random
    finished: list[Source]
    present: list[Source]
    bounds: dict[str, Source]
    serial: set[str]
    ordered: set[str]

    def new(self, prefix: str) -> str:
        """Return a new name."""

    def bound(self, iname: str, domain: str, source: Source | None) -> None:
        """Add the domain of a reduction."""


def mentions(text: str, name: str) -> bool:
    """Tell whether a text has a word in it."""
    return re.search(rf"\b{name}\b", text) is not None


class Expressions:
    """Makes the expressions of one instruction.

    Attributes:
        needed: the variables of other instructions that they read.
    """

    def __init__(self, maker: Maker, inames: tuple[str, ...], kind: str) -> None:
        self._maker = maker
        self._random = maker.random
        self._inames = inames
        self._kind = kind
        self._bound: list[str] = []  # inames of reductions that are open
        self.needed: set[str] = set()

    def expression(self, depth: int) -> str:
        """Return an expression with a value of the type of an array."""
        if depth == 0:
            return self._leaf()
        rules = [self._sum, self._sum, self._scaled, self._extremum, self._choice, self._reduction]
        if self._kind == "int":
            rules.append(self._quotient)
        return self._random.choice(rules)(depth - 1)

    def _sum(self, depth: int) -> str:
        sign = self._random.choice("+-")
        return f"{self.expression(depth)} {sign} ({self.expression(depth)})"

    def _scaled(self, depth: int) -> str:
        return f"{self._random.choice((2, 3, -1))}*({self.expression(depth)})"

    def _extremum(self, depth: int) -> str:
        name = self._random.choice(("min", "max"))
        return f"{name}({self.expression(depth)}, {self.expression(depth)})"

    def _choice(self, depth: int) -> str:
        return f"if({self.condition()}, {self.expression(depth)}, {self.expression(depth)})"

    def _quotient(self, depth: int) -> str:
        operator = self._random.choice(("//", "%"))
        return f"({self.expression(depth)}) {operator} {self._random.choice((2, 3, 5))}"

    def _reduction(self, depth: int) -> str:
        iname = self._maker.new("r")
        around = [*self._inames, *self._bound]
        outer = self._random.choice(around) if around else "n"
        ranges = ("0<={x}<m", "0<={x}<3", "{y}<={x}<n+2", "0<={x}<={y}")
        domain = self._random.choice(ranges).format(x=iname, y=outer)
        source = None
        if known := [s for i, s in self._maker.bounds.items() if self._computed(i, s)]:
            source = self._random.choice([None, *known])
        if source is not None:
            domain = f"0<={iname}<{source.name}"
        self._maker.bound(iname, domain, source)
        self.needed |= {source.name} if source is not None else set()
        self._bound.append(iname)
        operand = self.expression(depth)
        if not mentions(operand, iname) and (outer == "n" or not mentions(domain, outer)):
            operand = f"if({iname} != 1, {operand}, 2)"  # else that would be refused
        self._bound.remove(iname)
        operation = self._random.choice(("sum", "sum", "max", "min"))
        text = f"{operation}({iname}, {operand})"
        # Of nothing, a maximum is an infinity or the smallest integer there is.
        return text if operation == "sum" else f"{operation}({self._input()}, {text})"

    def _computed(self, iname: str, source: Source) -> bool:
        return iname not in self._bound and set(source.inames) <= set(self._inames)

    def condition(self) -> str:
        """Return a condition."""
        kinds = [f"{self._input()} > {self._random.randint(-3, 3)}"]
        if self._inames:
            a, b = self._random.choice(self._inames), self._random.choice(self._inames)
            kinds += [
                f"{a} < {self._random.randint(0, 4)}",
                f"(2*{a} + {b}) % 3 != 1",
                f"{a} <= {b}",
            ]
        first, second = self._random.choice(kinds), self._random.choice(kinds)
        return self._random.choice((first, f"{first} and {second}", f"{first} or {second}"))

    # --- leaves

    def _leaf(self) -> str:
        choice = self._random.random()
        if choice < 0.4:
            return self._input()
        if choice < 0.8:
            return self._read() or self._input()
        around = [*self._inames, *self._bound]
        if choice < 0.9 and around:
            return f"({self._affine()})"
        return f"({self._random.choice(('n', 'm', '3', '2 - n'))} + {self._input()})"

    def _affine(self) -> str:
        around = [*self._inames, *self._bound, "1"]
        return " + ".join(
            f"{self._random.choice((1, 2, -1))}*{self._random.choice(around)}" for _ in range(2)
        )

    def _input(self) -> str:
        letter = "i" if self._kind == "int" else self._random.choice("fi")
        if self._random.random() < 0.5 or not self._inames:
            return f"{letter}a[({self._affine()}) % 9]"
        iname = self._random.choice(self._inames)
        return f"{letter}b[{iname} + {OFFSET}, ({self._affine()}) % 5]"

    def _read(self) -> str | None:
        """Return something that another instruction wrote."""
        kinds = ("int",) if self._kind == "int" else ("int", "float")
        sources = [s for s in self._maker.present if s.kind in kinds and self._may_read(s)]
        sources += [s for s in self._maker.finished if s.kind in kinds and not s.scalar]
        if not self._inames:
            # An instruction without inames= would take on those that are not in the subscripts.
            sources = [s for s in sources if not s.repeated]
        if not sources:
            return None
        source = self._random.choice(sources)
        self.needed.add(source.name)
        if source in self._maker.finished:
            return source.at(**{i: f"({self._affine()}) % 7 - 3" for i in source.inames})
        if set(source.inames) <= set(self._inames):
            return self._earlier(source) or source.text
        return source.at(**{i: "1" for i in source.inames if i not in self._inames})

    def _may_read(self, source: Source) -> bool:
        return not source.scalar or set(source.inames) <= set(self._inames)

    def _earlier(self, source: Source) -> str | None:
        """Return what an earlier iteration wrote."""
        if source.scalar or source.inames != self._inames or self._random.random() < 0.6:
            return None
        if not source.inames:
            return None
        iname = self._random.choice(source.inames)
        self._maker.ordered.add(iname)
        return source.at(**{iname: f"{iname} - {self._random.randint(1, 2)}"})
