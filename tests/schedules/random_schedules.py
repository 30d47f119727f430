"""Schedules of random kernels: there is code where there was some, and results are the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.random_kernels.check import Case, check_compiled, make_case

STEPS = 3
_UNITS = 1, 2, 16
_SIZES: tuple[dict[str, int], ...] = ({}, {"n": 2000}, {"n": 5, "m": 3}, {"n": 10**6, "m": 4000})


def plain_cases(seeds: Iterable[int], target: str) -> list[Case]:
    """Return kernels as they are, each third after steps."""
    asked = target if target == "c" else "every"
    return [make_case(seed, steps=STEPS * (seed % 3 == 0), target=asked) for seed in seeds]


def scheduled(case: Case, target: str) -> Case:
    """Return a case with the schedule that `optimize` makes, for limits and sizes of a seed."""
    choices = random.Random(case.seed)
    units = choices.choice(_UNITS)
    limits = pg.Limits(2e10, 3e10, compute_units=units) if target == "c" else None
    sizes = choices.choice(_SIZES)
    kernel = case.changed.copy(target=target)
    return replace(case, changed=pg.optimize(kernel, limits, sizes=sizes))


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
