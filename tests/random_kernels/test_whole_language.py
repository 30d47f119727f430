"""Random kernels over the whole language: text, meaning, C and OpenCL agree, steps taken or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polygen as pg
from polygen.ir.expression import sum_of
from polygen.ir.instruction import CInstruction
from tests.few import few
from tests.random_kernels.check import Case, check_compiled, check_text, make_case
from tests.random_kernels.maker import random_maker

# Hints that a later step leaves without effect.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotVectorized")
]

IN_C, BATCH, IN_OPENCL, IN_STEPS, WITH_IMAGES = 80, 20, 18, 20, 6
TRIED = 4  # steps


def _has_image(seed: int) -> bool:
    with pg.without_proofs():
        kernel = random_maker(seed, "opencl").kernel()
    return any(isinstance(argument, pg.ImageArg) for argument in kernel.arguments)


def _cases(seeds: range, steps: int = 0, target: str = "c") -> list[Case]:
    """Return kernels, none of which polygen refuses, after a look at their texts."""
    cases = [make_case(seed, steps=steps, target=target) for seed in seeds]
    for case in cases:
        check_text(case)
    return cases


@few(1, "start", [0, *range(BATCH, IN_C, BATCH)])
def test_in_c(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(start, start + BATCH))
    # Of the others, those below take care.
    assert check_compiled(cases, "c", monkeypatch, validated=start == 0) == BATCH


@pytest.mark.more
@pytest.mark.usefixtures("optimized")
def test_in_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(1_000, 1_000 + IN_OPENCL), target="opencl")
    assert check_compiled(cases, "opencl", monkeypatch) == IN_OPENCL


@pytest.mark.more
def test_after_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(2_000, 2_000 + IN_STEPS), TRIED)
    assert sum(len(case.steps) for case in cases) > 1.5 * IN_STEPS
    # For the others there is no code: an axis without a constant size, say.
    assert check_compiled(cases, "c", monkeypatch) > 0.7 * IN_STEPS


@pytest.mark.more
def test_after_steps_with_images(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[Case] = []
    for seed in range(4_100, 4_500):
        if len(cases) < WITH_IMAGES and _has_image(seed):
            cases += _cases(range(seed, seed + 1), TRIED, "opencl")
    assert len(cases) == WITH_IMAGES
    assert all(any(isinstance(a, pg.ImageArg) for a in c.changed.arguments) for c in cases)
    assert sum(len(case.steps) for case in cases) > WITH_IMAGES
    assert check_compiled(cases, "opencl", monkeypatch) > 0.7 * WITH_IMAGES


@pytest.mark.deep
@pytest.mark.parametrize("start", (IN_C, *range(100_000, 106_000, 200)))
def test_thousands_in_c(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_compiled(_cases(range(start, start + 200)), "c", monkeypatch) == 200


@pytest.mark.deep
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("start", (1_000 + IN_OPENCL, *range(200_000, 200_600, 60)))
def test_hundreds_in_opencl(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(start, start + 60), target="opencl")
    assert check_compiled(cases, "opencl", monkeypatch) == 60


@pytest.mark.deep
@pytest.mark.parametrize("start", (2_000 + IN_STEPS, *range(300_000, 302_000, 100)))
def test_thousands_after_steps(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = "opencl" if start % 500 == 0 else "c"
    cases = _cases(range(start, start + 100), 6, target)
    assert check_compiled(cases, target, monkeypatch) > 60


# --- that these tests look at something


def _one_more(case: Case) -> Case | None:
    """Return a case whose kernel adds one to what its last instruction stores, if that can be."""
    arguments = {a.name for a in case.kernel.arguments}
    for insn in reversed(case.kernel.assignments):
        if isinstance(insn, CInstruction) or insn.atomicity or len(insn.values) != 1:
            continue
        if (
            insn.written_names[0] in arguments
            and case.arguments[insn.written_names[0]].dtype != bool
        ):
            pairs = [(a, sum_of(value, 1)) for a, value in insn.pairs]
            others = [insn.with_pairs(pairs) if i is insn else i for i in case.kernel.instructions]
            return replace(case, changed=case.kernel.copy(instructions=tuple(others)))
    return None


@pytest.mark.more
def test_kernels_that_compute_something_else_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [c for seed in range(0, 30, 6) if (c := _one_more(make_case(seed))) is not None]
    noticed = 0
    for case in cases:
        try:
            check_compiled([case], "c", monkeypatch)
        except AssertionError:
            noticed += 1
    # Not in each: there may be no instance, or rounding of that size.
    assert noticed > len(cases) // 2
