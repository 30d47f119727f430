"""Random programs, each as text and by the builder, make equal kernels with equal results."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import polygen as pg

_CONDITIONS = ("{x} > 1", "{x} + n < 6", "x[{x} + 4] >= y[{x} + 4]", "{x} % 2 == 0")
_ENDS = ("{x} < 4", "x[{x} + 4] <= y[{x} + 4] + 3", "out[{x} + 4] < 20", "z[{x} + 4] != 6")
_VALUES = (
    "x[{x} + 4] + 2*y[{x} + 5] - 1",
    "x[{x} + 4]*y[{x} + 4]/4 - -x[{x} + 3]",
    "(x[{x} + 4] - (y[{x} + 6] + {x}))*3",
    "min(x[{x} + 4], y[{x} + 4], 7) % 5",
    "sum({r}, z[{r} + 4]*2) + {x}",
    "x[{x} + 4]",
)
_BOUNDS = (("0", "n"), ("1", "n + 1"), ("{x}", "n"), ("0", "{x} + 1"), ("{x} - 1", "{x} + 2"))


@dataclass
class Program:
    """Statements in loops and conditions: as text, said to a builder, and as Python itself.

    Attributes:
        random: makes each choice.
        domains, lines, nests: the text.
        python: lines of Python that compute the same.
        ranges: the values of each loop, in Python.
        builder: what is told the same.
        known: what names in Python's text stand for.
        arrays: all arrays.
        ends: whether conditions may end loops.
    """

    random: random.Random
    domains: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    nests: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    python: list[str] = field(default_factory=list[str])
    ranges: dict[str, str] = field(default_factory=dict[str, str])
    builder: pg.Builder = field(default_factory=pg.Builder)
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: tuple[str, ...] = ("out", "x", "y", "z")
    ends: bool = False

    def __post_init__(self) -> None:
        n = self.builder.size("n")
        shape = (n + 20,)
        self.known = {a: self.builder.array(a, "float64", shape) for a in self.arrays}
        self.known["n"] = n
        self.known["min"] = partial(self.builder.call, "min")
        self.known["sum"] = self.builder.sum

    def handle(self, text: str, **more: Any) -> Any:
        """Return what Python makes of a text."""
        known = {**self.known, **more}
        return eval(text, {"__builtins__": {}}, known)  # noqa: S307  (texts of this file)

    def handle_in(self, text: str, loop: Any) -> Any:
        """Return what Python makes of a text that mentions a loop, as i."""
        return self.handle(text, i=loop)

    def new_loop(self, around: tuple[str, ...], while_: str = "") -> str:
        """Return the name of a new loop, the bounds of which may mention one around it.

        Parameters:
            around: the loops around it.
            while_: what holds as long as it goes on; empty for no such condition.
        """
        name = f"i{len(self.domains)}"
        low, high = self.random.choice(_BOUNDS if around else _BOUNDS[:2])
        outer = self.random.choice(around) if around else ""
        low, high = low.format(x=outer), high.format(x=outer)
        step = self.random.choice((1, 1, 2, 3))
        steps = f" and ({name} - ({low})) mod {step} = 0" if step > 1 else ""
        self.domains.append(f"{{ [{name}]: {low} <= {name} < {high}{steps} }}")
        self.ranges[name] = f"range({low}, {high}, {step})"
        self.known[name] = self.builder.loop(
            name,
            self.handle(low),
            self.handle(high),
            step,
            while_=partial(self.handle_in, while_.format(x="i")) if while_ else None,
        )
        return name

    def write(self, line: str, python: str, depth: int) -> None:
        """Write a line of text, and the line of Python that says the same, indented."""
        self.lines.append(line)
        if python:
            self.python.append("    " * depth + python)

    def fill(self, around: tuple[str, ...], depth: int, level: int = 0) -> None:
        """Add statements, loops and conditions inside of some loops.

        Parameters:
            around: the loops.
            depth: how many more blocks there may be around each other.
            level: how many there are.
        """
        for _ in range(self.random.choice((1, 2, 2))):
            kinds = ("assign", "loop", "if") if depth else ("assign",)
            kind = self.random.choice((*kinds, "break") if self.ends else kinds)
            if not around or kind == "loop":
                self.add_loop(around, depth, level)
            elif kind == "if":
                self.add_branches(around, depth, level)
            elif kind == "break":
                self.add_break(around, level)
            else:
                self.add_assignment(around, level)

    def add_loop(self, around: tuple[str, ...], depth: int, level: int) -> None:
        """Add a loop."""
        ended = self.ends and self.random.random() < 0.5
        test = self.random.choice(_ENDS) if ended else ""
        name = self.new_loop(around, test)
        inside = (*around, name)
        if around:
            self.nests = [*(n for n in self.nests if n != around), inside]
        test = test.format(x=name)
        head = f"for {name} while {test}" if ended else f"for {name}"
        self.write(head, f"for {name} in {self.ranges[name]}:", level)
        if ended:
            self.python.append("    " * (level + 1) + f"if not {test}: break")
        with self.known[name]:
            self.fill(inside, depth - 1, level + 1)
        self.write("end", "", level)

    def add_break(self, around: tuple[str, ...], level: int) -> None:
        """Add an end of the innermost loop."""
        test = self.random.choice(_ENDS).format(x=self.random.choice(around))
        self.write(f"break if not {test}", f"if not {test}: break", level)
        self.builder.break_(~self.handle(test))

    def add_branches(self, around: tuple[str, ...], depth: int, level: int) -> None:
        """Add a condition with what is executed otherwise."""
        tests = self.random.sample(_CONDITIONS, self.random.choice((1, 2)))
        for number, test in enumerate(tests):
            text = test.format(x=self.random.choice(around))
            word = "elif" if number else "if"
            self.write(f"{word} {text}", f"{word} {text}:", level)
            block = self.builder.otherwise if number else self.builder.when
            with block(self.handle(text)):
                self.add_assignment(around, level + 1)
        if self.random.random() < 0.5:
            self.write("else", "else:", level)
            with self.builder.otherwise():
                self.fill(around, depth - 1, level + 1)
        self.write("end", "", level)

    def add_assignment(self, around: tuple[str, ...], level: int) -> None:
        """Add a statement."""
        value = self.random.choice(_VALUES)
        over = self.new_loop(around) if "{r}" in value else ""
        inner = self.random.choice(around)
        index, value = f"{inner} + {4 + len(self.lines) % 3}", value.format(x=inner, r=over)
        summed = f"sum({over}, z[{over} + 4]*2)"
        python = value.replace(
            summed, f"sum(z[{over} + 4]*2 for {over} in {self.ranges.get(over)})"
        )
        self.write(f"out[{index}] = {value}", f"out[{index}] = {python}", level)
        self.known["out"][self.handle(index)] = self.handle(value)

    def kernels(self) -> tuple[pg.Kernel, pg.Kernel]:
        """Return the kernel of the text, and that of the builder."""
        options: dict[str, Any] = {"seq_dependencies": True, "assumptions": "n >= 0"}
        order = [", ".join(nest) for nest in self.nests]
        data = [pg.ValueArg("n"), *(pg.GlobalArg(a, "float64", "n + 20") for a in self.arrays)]
        of_text = pg.make_kernel(self.domains, self.lines, data, loop_priority=order, **options)
        return of_text, self.builder.kernel(**options)

    def expected(self, n: int, given: dict[str, Any]) -> Any:
        """Return what Python computes."""
        out = np.zeros(n + 20)
        exec("\n".join(self.python), {**given, "n": n, "out": out})  # noqa: S102
        return out


def _made(count: int, seed: int, *, ends: bool = False) -> Iterator[Program]:
    for number in range(count):
        program = Program(random.Random(f"{seed}.{number}"), ends=ends)
        program.fill((), 3)
        yield program


def _check(program: Program, sizes: tuple[int, ...]) -> None:
    """Check that both ways make one kernel; for some sizes, that it computes what Python does."""
    of_text, built = program.kernels()
    assert built == of_text
    for n in sizes:
        given = {name: (np.arange(n + 20.0) * k) % 7 for k, name in enumerate("xyz", 1)}
        out = np.zeros(n + 20)
        built.executor("c")(out=out, n=n, **given)
        np.testing.assert_allclose(out, program.expected(n, given), rtol=1e-13)


@pytest.mark.parametrize("seed", range(2))
def test_texts_and_calls_make_equal_kernels(seed: int) -> None:
    for number, program in enumerate(_made(10, seed)):
        _check(program, (0, 1, 5) if number < 3 else ())


def test_loops_that_conditions_end() -> None:
    for number, program in enumerate(_made(10, 3, ends=True)):
        _check(program, (0, 1, 5) if number < 3 else ())


@pytest.mark.more
def test_more_loops_that_conditions_end() -> None:
    for program in _made(60, 8, ends=True):
        _check(program, (0, 1, 2, 6))


@pytest.mark.more
def test_more_texts_and_calls() -> None:
    for program in _made(100, 7):
        _check(program, (0, 1, 2, 6))
