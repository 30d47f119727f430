"""Random steps on random kernels: none is accepted that changes what an execution leaves."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import nullcontext

import pytest

import polygen as pg
from polygen.analysis.nest import loop_tree
from polygen.errors import CannotProve, DependencyCycle, IllegalStep
from polygen.ir.kernel import Kernel
from tests.proof.generator import LIMITS, Maker, Step, random_step
from tests.proof.judge import judge

QUICK, BATCH, STEPS = 120, 30, 3

CALLS = [
    ({"n": n, "m": m}, seed)
    for seed, (n, m) in enumerate(((4, 4), (3, 2), (1, 4), (4, 1), (0, 3), (2, 3)))
]


def _has_an_order(knl: Kernel) -> bool:
    try:
        loop_tree(knl, quiet=True)
    except DependencyCycle:
        return False
    return True


def _taken(knl: Kernel, step: Step) -> Kernel | None:
    """Return what a step leads to without proof, if that is a kernel at all."""
    try:
        with pg.without_proofs():
            new = step(knl)
        loop_tree(new, quiet=True)
    except pg.UserError:
        return None
    return None if new is knl else new


def _accepts(knl: Kernel, step: Step, *, proofs: bool) -> bool:
    with nullcontext() if proofs else pg.without_proofs():
        try:
            step(knl)
        except (IllegalStep, CannotProve):
            return False
    return True


def _count(seeds: range, *, proofs: bool = True, refused_too: bool = False) -> Counter[str]:
    """Take random steps; count what became of them, and fail at one that is accepted wrongly."""
    found: Counter[str] = Counter()
    for seed in seeds:
        choices = random.Random(seed)
        knl = Maker(seed).kernel()
        if not _has_an_order(knl):
            continue
        for _ in range(STEPS):
            how, step = random_step(knl, choices)
            new = _taken(knl, step)
            if new is None:
                continue
            if _accepts(knl, step, proofs=proofs):
                verdict = judge(knl, new, CALLS, LIMITS)
                assert verdict.differs is None, f"seed {seed}: {how}: {verdict.differs}\n{knl}"
                found["accepted"] += verdict.calls > 0
                knl = new
            elif refused_too:
                verdict = judge(knl, new, CALLS, LIMITS, seeds=8)
                found["refused, seen to be wrong"] += verdict.differs is not None
                found["refused, seen to be harmless"] += verdict.differs is None
            else:
                found["refused"] += 1
    return found


@pytest.mark.parametrize("start", range(0, QUICK, BATCH))
def test_no_step_is_accepted_that_changes_results(start: int) -> None:
    found = _count(range(start, start + BATCH))
    assert found["accepted"] > BATCH // 2  # not everything is refused,
    assert found["refused"] > BATCH // 2  # nor is everything harmless


def test_without_proofs_such_steps_are_noticed() -> None:
    with pytest.raises(AssertionError, match="seed"):
        _count(range(BATCH), proofs=False)


def test_most_of_what_is_refused_is_wrong() -> None:
    # Small sizes and few orders do not show everything, and dead or equal values count as wrong.
    found = _count(range(5_000, 5_000 + BATCH), refused_too=True)
    assert found["refused, seen to be wrong"] > found["refused, seen to be harmless"]


@pytest.mark.deep
@pytest.mark.parametrize("start", range(100_000, 110_000, 250))
def test_thousands_of_steps(start: int) -> None:
    found = _count(range(start, start + 250))
    assert min(found["accepted"], found["refused"]) > 100
