"""Random programs that call libraries, between instructions on elements, in a time loop perhaps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

MATRICES, VECTORS = ("f", "g", "h"), ("u", "v")
_STEPS = "steps"
_Step = Callable[[dict[str, Any]], None]


def _taken(x: Any, how: str) -> Any:
    return x if how == "N" else x.T


@dataclass
class Program:
    """A program, and the same in NumPy.

    Attributes:
        random: chooses.
        lines: the instructions.
        domains: the loop domains.
        steps: what they do, one after the other.
    """

    random: random.Random
    lines: list[str] = field(default_factory=list[str])
    domains: list[str] = field(default_factory=list[str])
    steps: list[_Step] = field(default_factory=list[_Step])

    def add(self) -> None:
        """Add an instruction."""
        kinds = (self._gemm, self._gemv, self._syrk, self._trsm, self._elements, self._elements)
        self.random.choice(kinds)()

    def _options(self, **words: tuple[str, ...]) -> tuple[dict[str, str], str]:
        said = {name: self.random.choice(allowed) for name, allowed in words.items()}
        shown = {n: w for n, w in said.items() if w != words[n][0] or self.random.random() < 0.3}
        return said, "".join(f', {name}="{word}"' for name, word in shown.items())

    def _added(self, operands: tuple[str, ...]) -> tuple[str, float]:
        """Return what is added to a product: a multiple of what the result is."""
        beta = self.random.choice((0, 0, 1, 0.5))
        if beta == 0:
            return ", ".join(operands) + self.random.choice(("", ", beta=0")), 0
        return f"{', '.join(operands)}, alpha=0.25, beta={beta}", beta

    def _gemm(self) -> None:
        c, *others = self.random.sample(MATRICES, 3)
        a, b = (self.random.choice(others) for _ in range(2))
        said, words = self._options(trans_a=("N", "T", "C"), trans_b=("N", "T", "C"))
        given, beta = self._added((a, b))
        self.lines.append(f'{c} = library("gemm", {given}{words})')

        def step(x: dict[str, Any]) -> None:
            product = _taken(x[a], said["trans_a"]) @ _taken(x[b], said["trans_b"])
            x[c][...] = product if beta == 0 else 0.25 * product + beta * x[c]

        self.steps.append(step)

    def _gemv(self) -> None:
        (y, z), a = self.random.sample(VECTORS, 2), self.random.choice(MATRICES)
        said, words = self._options(trans=("N", "T", "C"))
        given, beta = self._added((a, z))
        self.lines.append(f'{y} = library("gemv", {given}{words})')

        def step(x: dict[str, Any]) -> None:
            product = _taken(x[a], said["trans"]) @ x[z]
            x[y][...] = product if beta == 0 else 0.25 * product + beta * x[y]

        self.steps.append(step)

    def _syrk(self) -> None:
        c, a = self.random.sample(MATRICES, 2)
        routine, other = self.random.choice((("syrk", "T"), ("herk", "C")))
        said, words = self._options(uplo=("L", "U"), trans=("N", other))
        given, beta = self._added((a,))
        self.lines.append(f'{c} = library("{routine}", {given}{words})')

        def step(x: dict[str, Any]) -> None:
            taken = _taken(x[a], said["trans"])
            product = taken @ taken.T
            new = product if beta == 0 else 0.25 * product + beta * x[c]
            half = np.tril if said["uplo"] == "L" else np.triu
            mask = half(np.ones(new.shape, bool))
            x[c][mask] = new[mask]

        self.steps.append(step)

    def _trsm(self) -> None:
        b = self.random.choice(MATRICES)
        result = b if self.random.random() < 0.5 else self.random.choice(MATRICES)
        said, words = self._options(
            side=("L", "R"), uplo=("L", "U"), trans=("N", "T"), diag=("N", "U")
        )
        self.lines.append(f'{result} = library("trsm", t, {b}{words})')

        def step(x: dict[str, Any]) -> None:
            a = np.tril(x["t"]) if said["uplo"] == "L" else np.triu(x["t"])
            if said["diag"] == "U":
                a = a - np.diag(np.diag(a)) + np.eye(len(a))
            inverse: Any = np.linalg.inv(_taken(a, said["trans"]))
            x[result][...] = inverse @ x[b] if said["side"] == "L" else x[b] @ inverse

        self.steps.append(step)

    def _elements(self) -> None:
        i, j = f"i{len(self.domains)}", f"j{len(self.domains)}"
        self.domains.append(f"{{ [{i}, {j}]: 0<={i},{j}<n }}")
        c, a = self.random.sample(MATRICES, 2)
        w = self.random.choice(VECTORS)
        self.lines.append(f"{c}[{i}, {j}] = 0.5*{c}[{i}, {j}] - {a}[{j}, {i}]/4 + {w}[{j}]")

        def step(x: dict[str, Any]) -> None:
            x[c][...] = 0.5 * x[c] - x[a].T / 4 + x[w][None, :]

        self.steps.append(step)

    def kernel(self) -> Kernel:
        """Return the kernel."""
        text = "\n".join(["for time", *self.lines, "end"])
        data = [pg.GlobalArg(name, np.float64, shape="n, n") for name in ("t", *MATRICES)]
        data += [pg.GlobalArg(name, np.float64, shape="n") for name in VECTORS]
        return kernel(
            [f"{{ [time]: 0<=time<{_STEPS} }}", *self.domains], text, *data, seq_dependencies=True
        )

    def check(self, knl: Kernel, n: int, steps: int) -> None:
        """Run a kernel, and compare what it writes with NumPy's."""
        rng = np.random.default_rng(n)
        x: dict[str, Any] = {name: rng.standard_normal((n, n)) for name in MATRICES}
        x |= {name: rng.standard_normal(n) for name in VECTORS}
        x["t"] = rng.standard_normal((n, n)) / (1 + n) + 2 * np.eye(n)
        lie: tuple[Callable[[Any], Any], ...] = (np.ascontiguousarray, np.asfortranarray)
        passed = {name: self.random.choice(lie)(value.copy()) for name, value in x.items()}
        for _ in range(steps):
            for step in self.steps:
                step(x)
        knl.executor("c")(
            **{k: v for k, v in passed.items() if k in knl.variables}, **{_STEPS: steps, "n": n}
        )
        for name, value in x.items():
            scale = max(1.0, np.abs(value).max(initial=0))
            np.testing.assert_allclose(
                passed[name] / scale, value / scale, atol=1e-11, err_msg=str(self.lines)
            )


def random_program(seed: int, length: int = 5) -> Program:
    """Return a program."""
    program = Program(random.Random(seed))
    for _ in range(length):
        program.add()
    return program
