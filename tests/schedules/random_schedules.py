"""Schedules of random kernels: there is code where there was some, and results are the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.properties.together import run_together
from tests.random_kernels.check import Case, check_compiled, make_case
from tests.schedules.random_programs import Program, random_program

H200 = pg.Limits.named("H200")
STEPS = 3
_UNITS = 1, 2, 16
_SIZES: tuple[dict[str, int], ...] = ({}, {"n": 2000}, {"n": 5, "m": 3}, {"n": 10**6, "m": 4000})


def plain_cases(seeds: Iterable[int], target: str) -> list[Case]:
    """Return kernels as they are, each third after steps."""
    asked = target if target == "c" else "every"
    return [make_case(seed, steps=STEPS * (seed % 3 == 0), target=asked) for seed in seeds]


def scheduled(case: Case, target: str) -> Case:
    """Return a case with the schedule that `optimize` makes, for limits and sizes of a seed."""
    return replace(case, changed=_scheduled(case.changed.copy(target=target), case.seed))


def _scheduled(kernel: Kernel, seed: int) -> Kernel:
    choices = random.Random(seed)
    units = choices.choice(_UNITS)
    limits = pg.Limits(2e10, 3e10, compute_units=units) if kernel.target == "c" else H200
    sizes = choices.choice(_SIZES)
    return pg.optimize(kernel, limits, sizes=sizes)


def refusal(kernel: Kernel, target: str) -> str:
    """Return why there is no code for a kernel; nothing if there is."""
    try:
        pg.generate_code(kernel, target)
    except UserError as error:
        return f"{type(error).__name__}: {error.what}"
    return ""


def refused(cases: Iterable[tuple[Case, Case]], target: str) -> Iterator[str]:
    """Yield the cases for which a schedule took the code away."""
    for plain, new in cases:
        if (why := refusal(new.changed, target)) and not refusal(plain.changed, target):
            yield f"{target}, seed {plain.seed}: {why}"


def check_schedules(seeds: range, target: str, patch: pytest.MonkeyPatch, *, run: bool) -> None:
    """Check the schedules of some kernels: that there is code, and what it computes if it runs."""
    cases = plain_cases(seeds, target)
    new = [scheduled(case, target) for case in cases]
    pairs = list(zip(cases, new, strict=True))
    assert sum(a.changed.history != b.changed.history for a, b in pairs) >= len(pairs) // 2
    wrong = list(refused(pairs, target))
    assert not wrong, "\n".join(wrong)
    if run:
        assert check_compiled(new, target, patch) > 0.7 * len(new)


# --- programs as users write them


def scheduled_program(seed: int, target: str) -> tuple[Program, Kernel]:
    """Return a random program, and its kernel with a schedule."""
    program = random_program(seed)
    return program, _scheduled(program.kernel(target), seed)


def check_programs(seeds: range, target: str, patch: pytest.MonkeyPatch) -> None:
    """Check that schedules of random programs have code, and compute what NumPy does."""
    programs = [scheduled_program(seed, target) for seed in seeds]
    wrong = [
        f"{target}, program {s}: {w}"
        for s, (_, k) in zip(seeds, programs, strict=True)
        if (w := refusal(k, target))
    ]
    assert not wrong, "\n".join(wrong)
    assert sum(bool(kernel.history) for _, kernel in programs) > len(programs) // 2
    calls: list[tuple[Kernel, dict[str, Any]]] = []
    expected: list[tuple[str, dict[str, Any]]] = []
    for seed, (program, kernel) in zip(seeds, programs, strict=True):
        for n in program.sizes:
            given, after = program.call(n, seed)
            calls.append((kernel, given))
            expected.append((f"{target}, program {seed}, n = {n}", after))
    for found, (where, after) in zip(run_together(calls, target, patch, ()), expected, strict=True):
        assert found is not None
        for name, array in after.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{where}: '{name}'")
