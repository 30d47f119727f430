"""One random kernel, what random transformations make of it, and arguments: all from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from polygen.errors import (
    BarrierNotPossible,
    CannotProve,
    DependencyCycle,
    GridSizeNotKnown,
    NoLoopNest,
    PrivateAcrossLaunches,
)
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower
from tests.oracle.compare import make_arguments
from tests.oracle.trace import Traced, traced
from tests.properties.generator import Generator
from tests.properties.steps import Steps

# What a random kernel, or a random mapping of one, may well be.
NOT_POSSIBLE = (
    BarrierNotPossible,
    CannotProve,  # where bounds are data
    DependencyCycle,
    GridSizeNotKnown,
    NoLoopNest,
    PrivateAcrossLaunches,
)


@dataclass(frozen=True)
class RandomCase:
    """A kernel with marks, what steps made of it, and the arguments of a call."""

    marked: Traced
    transformed: Kernel
    arguments: dict[str, Any]

    @property
    def passed(self) -> dict[str, Any]:
        """The arguments that are left: some parameters may be fixed."""
        known = {a.name for a in self.transformed.arguments}
        return {name: value for name, value in self.arguments.items() if name in known}


def random_case(seed: int) -> RandomCase | None:
    """Return what a seed stands for, or None if it is something that cannot be generated."""
    choices = random.Random(seed)
    case = Generator(choices).case()
    marked = traced(case.kernel)
    sizes = {"n": choices.choice((0, 1, 3, 5)), "m": choices.choice((0, 1, 2, 4))}
    arguments = make_arguments(case.kernel, sizes, seed)
    arguments["count"] = np.abs(arguments["count"]) % 4
    try:
        _lower(case.kernel)
        transformed = Steps(case, marked.kernel, sizes, choices).take(choices.randint(1, 6))
        _lower(transformed)
    except NOT_POSSIBLE:
        return None
    return RandomCase(marked, transformed, arguments)


def _lower(kernel: Kernel) -> None:
    with pg.without_proofs():
        lower(kernel, Model.GRID)
