"""Random kernels, transformed at random, as cases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import count, islice

import numpy as np

import polygen as pg
from polygen.errors import CannotProve, IllegalStep
from polygen.ir.array import ValueArg
from tests.deep.case_table import Case
from tests.deep.cases import all_cases
from tests.oracle.compare import make_arguments
from tests.properties.generator import Generator
from tests.properties.random_case import NOT_POSSIBLE
from tests.properties.steps import Steps

RANDOM = 200
STEPS = 7


@cache
def deep_cases() -> tuple[Case, ...]:
    """Return what every tool watches: the cases written by hand, and random ones."""
    return *all_cases(), *islice(_random_cases(), RANDOM)


def _random_cases() -> Iterator[Case]:
    """Yield those that there is code for: some mappings to the hardware are not possible."""
    for seed in count():
        try:
            case = random_case(seed)
            for target in ("opencl", "c"):
                pg.generate_code(case.kernel, target)
        except (*NOT_POSSIBLE, CannotProve, IllegalStep):
            continue
        yield case


def random_case(seed: int) -> Case:
    """Return the case of a seed."""
    choices = random.Random(seed)
    made = Generator(choices).case()
    sizes = {name: choices.randint(0, 6) for name in ("n", "m")}
    kernel = Steps(made, made.kernel, sizes, choices).take(STEPS)
    lengths = make_arguments(made.kernel, sizes, seed)["count"]
    passed = {a.name for a in kernel.arguments if isinstance(a, ValueArg)}
    return Case(
        f"random_{seed}",
        kernel.copy(name=f"random_{seed}"),
        {name: value for name, value in sizes.items() if name in passed},
        {"count": np.abs(lengths) % 4},
    )
