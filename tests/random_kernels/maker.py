"""Random kernels over the whole language, well formed by construction.

Every instruction writes elements of its own, or updates atomically, or runs upward in its loop; it
depends on those that wrote what it reads, and reads of them what was written in the same iteration,
in an earlier one, or in a loop nest before.  So results do not depend on what is left open.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, ClassVar

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.language.of_nothing import identities
from tests.oracle.cases import QUIET
from tests.properties.expressions import mentions
from tests.random_kernels.ended_loops import ended_loop
from tests.random_kernels.expressions import TABLE, Expressions
from tests.random_kernels.functions import KERNELS, OWN
from tests.random_kernels.nest import Nest
from tests.random_kernels.reductions import Reductions
from tests.random_kernels.sources import Array, Source
from tests.random_kernels.statements import fill
from tests.random_kernels.values import Value, computed, largest

_REDUCED = (
    "0<={x}<m",
    "0<={x}<3",
    "{y}<={x}<n+2",
    "0<={x}<={y}",
    "0<={x}<{y}",
    "({x}=1 or 3<={x}<n+2)",
    "0<={x}<n and {x} mod 2 = 1",
    "0<={x}<m and exists(e: {x}+{y} = 3*e)",
)


_ORDERINGS = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]


@dataclass(frozen=True)
class Rule:
    """A substitution rule, and what is known of an invocation.

    Attributes:
        again: whether it may be invoked again: not if it reduces, for an iname is one loop.
    """

    name: str
    parameter: Value
    value: Value
    inames: tuple[str, ...]
    needed: frozenset[str]
    again: bool


@dataclass
class Maker:
    """Makes a kernel; `random` makes each choice.

    Attributes:
        data: what is declared.
        constructs: what statements there are in it.
        ids: the loops that each instruction is in.
        target: ``"c"`` or ``"opencl"``, which differ in images and in memory orderings, or
            ``"every"``: what all targets have.
        tags: tags of inames.
        program: what the kernel is of, if it was merged with those that it may call.
        nests: the inames of each nest, outermost first.
        bounded: inames of reductions whose values depend on those of others.
        choice_of_loops: decides which nests have a loop that a condition ends.
    """

    random: random.Random
    domains: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    sources: list[Source] = field(default_factory=list[Source])
    rules: list[Rule] = field(default_factory=list[Rule])
    constructs: list[str] = field(default_factory=list[str])
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    target: str = "c"
    tags: dict[str, str] = field(default_factory=dict[str, str])
    program: pg.TranslationUnit | None = None
    in_sequence: bool = False
    reductions: int = 0
    nests: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    bounded: set[str] = field(default_factory=set[str])
    choice_of_loops: Random = field(default_factory=lambda: Random(0))
    _count: int = 0

    OFFSET: ClassVar[int] = 8  # added to inames in subscripts: they may be as low as -4
    EXTENT: ClassVar[str] = "n + m + 20"

    def kernel(self) -> Kernel:
        """Return a kernel of one or two loop nests, the second reading what the first wrote."""
        self.in_sequence = self.random.random() < 0.15
        fence = ""
        for letters in ("ijk", "pqr")[: self.random.choice((1, 1, 2))]:
            nest = Nest(self, tuple(letters[: self.random.choice((0, 1, 2, 2, 3))]), fence)
            self.nests.append(nest.names)
            fill(nest)
            if self.choice_of_loops.random() < 0.12:  # its own, so that other kernels stay
                ended_loop(nest)
                self.constructs.append("ended loop")
            fence = nest.close()
        return pg.tag_inames(self._made(), self.tags)

    def _made(self) -> Kernel:
        merged = self.chance(0.3)
        several = [names for names in self.nests if len(names) > 1]
        ordered = [", ".join(names) for names in several if self.chance(0.3)]
        with identities():  # minima of nothing, too
            knl = pg.make_kernel(
                self.domains or "{ : }",
                "\n".join(self.lines),
                [*self.data.values(), "..."],
                assumptions="n >= 0 and m >= 0",
                functions=OWN if merged else {**OWN, **KERNELS},
                seq_dependencies=self.in_sequence,
                silenced_warnings=QUIET,
                loop_priority=ordered,
            )
        if not merged:
            return knl
        self.program = pg.merge([knl, *KERNELS.values()])
        return self.program[knl.name]

    def new(self, prefix: str) -> str:
        """Return a name that nothing has yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def chance(self, probability: float) -> bool:
        """Return true as often as that."""
        return self.random.random() < probability

    # --- what expressions ask for

    def uses(self, function: str) -> None:
        """Note that a function of the user's is called."""
        self.constructs.append(function)

    def scalar(self, name: str) -> Value:
        """Return a scalar argument."""
        dtype = np.dtype(np.int32 if name == "shift" else np.float64)
        self.data[name] = pg.ValueArg(name, dtype)
        return Value(name, dtype, 9)

    def table(self) -> None:
        """Declare the table of constants."""
        values = np.array(TABLE, np.int8)
        self.data["table"] = pg.TemporaryVariable("table", initializer=values, read_only=True)

    def input(self, dtype: str, letter: str) -> Array:
        """Return an array that nothing writes; ``a`` has one axis, ``b`` two."""
        name = letter if letter == "idx" else f"{letter}_{dtype}"
        shape: tuple[Any, ...] = (self.EXTENT, 5) if letter == "b" else (9,)
        kind = pg.ConstantArg if letter == "a" and dtype == "int16" else pg.GlobalArg
        self.data.setdefault(name, kind(name, dtype, shape))
        whole = np.dtype(dtype)
        most = largest(whole) if letter == "a" and whole.kind in "iu" else 16
        return Array(name, computed(name, whole, min(most, 1) if whole.kind == "b" else most, 0))

    def unrolled(self, domain: str) -> str:
        """Return a new iname of an unrolled loop."""
        iname = self.new("u")
        self.domains.append(f"{{ [{iname}]: {domain.format(x=iname)} }}")
        self.tags[iname] = "unr"
        return iname

    def memory(self) -> list[str]:
        """Return words that say how an access is atomic."""
        in_c = self.target == "c"
        words = [self.random.choice(_ORDERINGS if in_c else ["relaxed"])]
        words.append(self.random.choice(("device", "all_devices")) if in_c else "device")
        return [word for word in words if self.chance(0.7)]

    def output(self, dtype: str, axes: int) -> str:
        """Declare an array that is written, and return its name."""
        name = self.new("o")
        order = "F" if axes > 1 and self.chance(0.2) else None
        self.data[name] = pg.GlobalArg(name, dtype, (self.EXTENT,) * axes or (2,), order=order)
        return name

    def reduced(self, by: Reductions) -> str:
        """Return a new iname to reduce over."""
        iname, around = self.new("r"), [*by.inames, *by.bound]
        self.reductions += 1
        domain = self.random.choice(_REDUCED)
        outer = self.random.choice(around or ("n",))
        bounds = [s for s in self.sources if s.bounds and s.may_be_read(by.inames)]
        if bounds and self.chance(0.4):
            bound = self.random.choice(bounds)
            by.needed |= bound.writers
            domain = f"0<={{x}}<{bound.name}"
        self.domains.append(f"{{ [{iname}]: {domain.format(x=iname, y=outer)} }}")
        if around and mentions(self.domains[-1], outer):
            self.bounded.add(iname)
        return iname

    def read(self, to: Expressions, kind: str) -> Value | None:
        """Return something that an instruction wrote, for an instruction after it."""
        found = [s for s in self.sources if s.value.kind == kind and s.may_be_read(to.inames)]
        if not found:
            return None
        source = self.random.choice(found)
        to.needed |= source.writers
        if not source.open:
            places = [f"({to.affine()}) % 9" for _ in source.order]
            return source.value.named(source.at(places))
        places = [f"{iname} + {self.OFFSET}" for iname in source.order]
        if source.may_be_earlier and source.inames == to.inames and places and self.chance(0.2):
            at = self.random.randrange(len(places))
            places[at] = f"{source.order[at]} + {self.OFFSET - self.random.randint(1, 2)}"
        return source.value.named(source.at(places))

    def invoke(self, by: Expressions, argument: Value, depth: int) -> Value:
        """Return the value of a rule, perhaps a new one."""
        known = [r for r in self.rules if _takes(r, argument) and set(r.inames) <= set(by.inames)]
        known = [r for r in known if r.again]
        rule = self.random.choice(known) if known and self.chance(0.6) else None
        rule = rule or self._rule(by, argument, depth)
        by.needed |= rule.needed
        tag = self.random.choice(("", "", "$first", "$second"))
        mentioned = [i for i in rule.inames if re.search(rf"\b{i}\b", rule.value.text)]
        named = "".join(f", {i}={i}" for i in mentioned if self.chance(0.3))
        return rule.value.named(f"{rule.name}{tag}({argument.text}{named})")

    def _rule(self, by: Expressions, argument: Value, depth: int) -> Rule:
        inames = by.inames if self.chance(0.5) else ()
        name, reductions = self.new("f"), self.reductions
        parameter = replace(argument, text="x")
        body = Expressions(self, inames, parameter)
        value = body.of(argument.kind, min(depth, 1))
        self.lines.append(f"{name}(x) := {value.text}")
        again = reductions == self.reductions
        rule = Rule(name, parameter, value, inames, frozenset(body.needed), again)
        self.rules.append(rule)
        return rule


def _takes(rule: Rule, argument: Value) -> bool:
    """Tell whether what is known of a rule's value holds for that argument, too."""
    known = rule.parameter
    sizes = argument.most <= known.most and argument.error <= known.error
    return argument.dtype == known.dtype and sizes


def random_maker(seed: int, target: str = "c") -> Maker:
    """Return the maker of a kernel that a seed stands for."""
    own = Random(f"{seed}: loops")
    return Maker(random.Random(seed), target=target, choice_of_loops=own)


def arguments_of(kernel: Kernel, sizes: dict[str, int], seed: int) -> dict[str, Any]:
    """Return arguments of all types, as expressions expect them to be."""
    numbers = np.random.default_rng(seed)
    found: dict[str, Any] = {
        "n": sizes["n"],
        "m": sizes["m"],
        "alpha": np.float64(3),
        "shift": np.int32(-5),
    }
    for arg in kernel.arguments:
        if isinstance(arg, pg.GlobalArg):
            assert arg.dtype is not None
            shape = tuple(
                e if isinstance(e, int) else sum(sizes.values()) + 20 for e in arg.shape or ()
            )
            found[arg.name] = _numbers(numbers, arg.name, arg.dtype, shape)
    names = {arg.name for arg in kernel.arguments}
    return {name: value for name, value in found.items() if name in names}


def _numbers(
    numbers: np.random.Generator, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Any:
    if name in ("idx", "count"):
        return numbers.integers(0, 5, shape).astype(dtype)
    if name.startswith("a_") and dtype.kind in "iu":
        info = np.iinfo(dtype)
        return numbers.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind in "bu":
        return numbers.integers(0, 2 if dtype.kind == "b" else 17, shape).astype(dtype)
    values = numbers.integers(-8, 9, shape)
    return (values + (1j * numbers.integers(-8, 9, shape) if dtype.kind == "c" else 0)).astype(
        dtype
    )
