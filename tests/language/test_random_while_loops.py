"""Random programs with loops that conditions end: what they become does what Python does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.lower.lower import Model, lower
from tests.oracle.compare import run_program

_COUNT = 4  # numbers that a program changes
_DEEPEST = 3


class _Program:
    """A random program, as polygen's text and as Python's."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.inames: list[tuple[str, bool]] = []  # each with whether it has a bound
        self.lines: list[str] = []
        self.python = ["def program(v):"]
        self._block(0, 1, [])
        self.python.append(" return v")

    def _add(self, depth: int, text: str, python: str | None = None) -> None:
        self.lines.append(text)
        if python != "":
            self.python.append(" " * (depth + 1) + (python or text))

    def _number(self) -> str:
        return f"v[{self._random.randrange(_COUNT)}]"

    def _condition(self) -> str:
        sign = self._random.choice(["<", ">", "==", "!=", "<=", ">="])
        return f"{self._number()} {sign} {self._random.choice([self._number(), '0', '3', '7'])}"

    def _block(self, depth: int, fewest: int, loops: list[str]) -> None:
        for _ in range(self._random.randint(fewest, 3)):
            kinds = ["assign"] * 4 + ["loop"] * (depth < _DEEPEST) * 2 + ["if"] * 2
            kinds += ["break"] * 2 * bool(loops)
            getattr(self, f"_{self._random.choice(kinds)}")(depth, loops)
        if not depth and not self.inames:
            self._loop(depth, loops)

    def _assign(self, depth: int, loops: list[str]) -> None:
        target, add = self._number(), self._random.choice(["1", "2", "-3", *loops])
        text = f"{target} = ({self._number()} + {add}) % 11"
        self._add(depth, text)

    def _if(self, depth: int, loops: list[str]) -> None:
        # The condition is kept: a block must not change what its condition reads.
        keeps = f"k[{len(self.lines)}] = {self._number()} - {self._random.randrange(4)}"
        asked = keeps.partition(" ")[0] + " > 0"
        self._add(depth, keeps)
        self._add(depth, f"if {asked}", f"if {asked}:")
        self._block(depth + 1, 1, loops)
        self._add(depth, "end", "")

    def _break(self, depth: int, _loops: list[str]) -> None:
        condition = self._condition()
        self._add(depth, f"break if {condition}", f"if {condition}: break")

    def _loop(self, depth: int, loops: list[str]) -> None:
        iname = f"i{len(self.inames)}"
        has_bound, has_condition = self._random.choice([(True, True), (True, False), (False, True)])
        self.inames.append((iname, has_bound))
        condition = self._condition() if has_condition else ""
        shown = f" while {condition}" if condition else ""
        most = 5 if has_bound else 10**9
        self._add(depth, f"for {iname}{shown}", f"for {iname} in range({most}):")
        if condition:
            self.python.append(" " * (depth + 2) + f"if not ({condition}): break")
        if not has_bound:  # it ends for certain
            self._add(depth + 1, f"c[{len(self.inames)}] = c[{len(self.inames)}] + 1")
            ends = f"c[{len(self.inames)}] > {self._random.randrange(1, 9)}"
            self._add(depth + 1, f"break if {ends}", f"if {ends}: break")
        self._block(depth + 1, 1, [*loops, iname])
        self._add(depth, "end", "")

    def kernel(self) -> pg.Kernel:
        domains = [f"{{ [{i}]: 0<={i}{'<5' if bound else ''} }}" for i, bound in self.inames]
        arrays: list[Any] = [
            pg.GlobalArg("v", np.int32, shape=_COUNT),
            pg.GlobalArg("k", np.int32, shape=400),
            pg.GlobalArg("c", np.int32, shape=100),
        ]
        text = "\n".join(self.lines)
        return pg.make_kernel(domains, text, [*arrays, "..."], seq_dependencies=True)

    def expected(self, v: list[int]) -> list[int]:
        space: dict[str, Any] = {"k": [0] * 400, "c": [0] * 100}
        exec("\n".join(self.python), space)  # noqa: S102  (what was made here)
        found: list[int] = space["program"](v)
        return found


def _check(seed: int) -> None:
    made = _Program(seed)
    knl = made.kernel()
    unknown = [knl, pg.split_iname(knl, made.inames[0][0], 2)]
    names = {a.name for a in knl.arguments}
    for each in unknown:
        for model in Model:
            program = lower(each, model)
            for start in ([0, 1, 2, 3], [7, 7, 0, 5]):
                given = {"v": start, "k": [0] * 400, "c": [0] * 100}
                arguments = {n: np.array(given[n], np.int32) for n in names}
                outcome = run_program(program, arguments)
                assert list(outcome.arrays["v"]) == made.expected(list(start)), made.lines


def test_random_programs() -> None:
    for seed in range(6):
        _check(seed)


@pytest.mark.more
def test_more_random_programs() -> None:
    for seed in range(6, 150):
        _check(seed)
