"""`polygen.optimize` on random kernels: code for all that had some, and the results as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polygen.ir.tags import GroupTag
from tests.random_kernels.check import Case
from tests.schedules.random_programs import NESTS, random_program
from tests.schedules.random_schedules import (
    check_programs,
    check_schedules,
    plain_cases,
    refused,
)

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("NotParallel", "NotVectorized", "SeparationIgnored", "PriorityIgnored")
]


def deep(first: int, last: int, step: int = 50) -> list[Any]:
    return [
        pytest.param(range(s, s + step), marks=pytest.mark.deep, id=str(s))
        for s in range(first, last, step)
    ]


@pytest.mark.parametrize("seeds", deep(70_000, 72_000))
def test_in_c(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_schedules(seeds, "c", monkeypatch, run=True)


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(76_000, 76_002), id="76000"), *deep(76_010, 78_010)]
)
def test_code_for_opencl(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_schedules(seeds, "opencl", monkeypatch, run=False)


@pytest.mark.parametrize("seeds", deep(78_100, 78_300, 20))
def test_in_opencl(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_schedules(seeds, "opencl", monkeypatch, run=True)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(3), id="0"),
        pytest.param(range(10, 30), marks=pytest.mark.more, id="10"),
        *deep(1_000, 2_000),
    ],
)
def test_programs_in_c(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_programs(seeds, "c", monkeypatch)


@pytest.mark.parametrize("seeds", deep(3_000, 3_200, 10))
def test_programs_in_opencl(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_programs(seeds, "opencl", monkeypatch)


@pytest.mark.parametrize("kind", NESTS)
def test_programs_are_what_numpy_does(kind: str) -> None:
    """Without a schedule, each kind alone, where it writes an argument that it changes."""
    for seed in range(5_000):
        program = random_program(seed)
        given, after = program.call(16, seed) if program.kinds == [kind] else ({}, {})
        if any(not np.array_equal(given[name], array) for name, array in after.items()):
            break
    else:
        pytest.fail(f"there is no program of {kind} alone")
    program.kernel("c")(**given)
    for name, array in after.items():
        np.testing.assert_array_equal(given[name], array)


def test_schedules_that_have_no_code_are_noticed() -> None:
    """A kernel whose reductions are on an axis by a tag alone has no code in C."""
    plain = next(case for case in plain_cases(range(70_001, 70_020), "c") if _reductions(case))
    first = _reductions(plain)[0]
    tagged = plain.changed.copy(tags={**plain.changed.tags, first: GroupTag(0)})
    (told,) = refused([(plain, replace(plain, changed=tagged))], "c")
    assert told.startswith(f"c, seed {plain.seed}: ")


def _reductions(case: Case) -> list[str]:
    """Return the loops of a case that are reduced over, and have no tag."""
    kernel = case.changed
    found = [i for insn in kernel.instructions for i in sorted(insn.reduction_inames)]
    return [iname for iname in found if iname not in kernel.tags]
