"""Programs as users write them, beside plain Python on NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotValidated
from tests.jit.agreement import Outcome, check, outcome
from tests.jit.programs import PROGRAMS
from tests.jit.programs.program import Program
from tests.jit.random_functions.check import in_python
from tests.jit.together import outcomes

KINDS = sorted({program.name.partition(".")[0] for program in PROGRAMS})


def test_there_are_many_of_each_kind() -> None:
    assert len(PROGRAMS) >= 120
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert len({name.partition(".")[0] for name in names}) >= 11


def test_programs_say_the_same_each_time() -> None:
    for program in PROGRAMS:
        for size in program.sizes:
            first = outcome(program.function, program.arguments(size))
            check(outcome(program.function, program.arguments(size)), first)


def test_programs_do_something() -> None:
    """Each returns a value or writes an argument, at its largest size."""
    idle = {"constructs.nothing_read"}
    for program in PROGRAMS:
        before = program.arguments(program.sizes[-1])
        after = outcome(program.function, before)
        changed = any(
            isinstance(old, np.ndarray) and not np.array_equal(old, new, equal_nan=True)
            for old, new in zip(before, after.arguments, strict=True)
        )
        assert (after.result is not None or changed) == (program.name not in idle), program.name


def of_kind(kind: str) -> list[Program]:
    return [p for p in PROGRAMS if p.name.startswith(f"{kind}.")]


def compare(
    programs: Sequence[Program], patch: pytest.MonkeyPatch, *places: int, target: str = "c"
) -> None:
    """Compare programs with plain Python at some of their sizes: -1 is the largest one."""
    jitted = [pg.jit(program.function, target=target) for program in programs]
    for place in places:
        able = [k for k, program in enumerate(programs) if place < len(program.sizes)]
        arguments = {k: programs[k].arguments(programs[k].sizes[place]) for k in able}
        with warnings.catch_warnings():
            if not all(programs[k].is_validated for k in able):
                warnings.simplefilter("ignore", NotValidated)
            found = outcomes([(jitted[k], arguments[k]) for k in able], patch, target)
        for k, left in zip(able, found, strict=True):
            program = programs[k]
            what = f"{program.name}, size {program.sizes[place]}"
            if not isinstance(left, Outcome):
                raise AssertionError(what) from left
            try:
                check(left, outcome(program.function, arguments[k]), program.roundings)
            except AssertionError as error:
                raise AssertionError(f"{what}: {error}") from error
        if place == -1:
            check_in_kernels(programs, jitted)


def check_in_kernels(programs: Sequence[Program], jitted: Sequence[object]) -> None:
    """Check that `explain` lists what is expected to stay Python, and nothing else."""
    for program, function in zip(programs, jitted, strict=True):
        left = in_python(function)
        missing = [why for why in program.stays_python if not any(why in line for line in left)]
        more = [line for line in left if not any(why in line for why in program.stays_python)]
        assert (missing, more) == ([], []), program.name


@pytest.mark.parametrize("kind", KINDS)
def test_on_c(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program at its largest size is in kernels, and right."""
    compare(of_kind(kind), monkeypatch, -1)


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_other_sizes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(of_kind(kind), monkeypatch, 0, 1, 2, 3)


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_on_opencl(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(of_kind(kind), monkeypatch, -1, target="opencl")


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_schedules_for_large_sizes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is scheduled for much work is right for little, too: threads, tiles, vectors."""

    scheduled: list[str] = []

    def for_large_sizes(kernel: pg.Kernel, sizes: Mapping[str, int]) -> pg.Kernel:
        scheduled.append(kernel.name)
        return pg.optimize(kernel, sizes={n: 300 * size for n, size in sizes.items()})

    monkeypatch.setattr(
        "polygen.jitting.compiled_programs._scheduled", for_large_sizes
    )  # not those on disk
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotValidated)  # of several sums over columns, in tiles
        compare(of_kind(kind), monkeypatch, -1)
    assert len(set(scheduled)) > 3
