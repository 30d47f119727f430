"""Budgets of steps: random kernels of a few loops, and random steps of all kinds.

Time is that of the processor, with room for slow machines: as a rule a step takes 5 ms.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import suppress

import pytest

from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.proof.any_step import AnyStep
from tests.proof.sequences import random_sequence
from tests.properties.every_step import random_step

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.PolygenWarning")

DEAR = ("fuse_loops", "join_inames", "split_iname", "wavefront")
LONGEST, ON_AVERAGE = 12.0, 0.04  # seconds


class _Timed:
    """Draws steps, many of them of those kinds that are dear, and notes how long each takes."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def draw(self, kernel: Kernel, choices: random.Random) -> AnyStep:
        """Draw a step; take it once, to see how long that takes, proved or refused."""
        step = random_step(kernel, choices)
        if choices.random() < 0.5:
            some = (random_step(kernel, choices) for _ in range(40))
            step = next((s for s in some if s.name in DEAR), step)
        start = time.process_time()
        with suppress(UserError):
            step(kernel)
        self.taken[f"{len(self.taken)}: {step}"] = time.process_time() - start
        return step


def _check(seeds: Iterable[int]) -> None:
    timed = _Timed()
    for seed in seeds:
        random_sequence(seed, draw=timed.draw)
    worst = max(timed.taken, key=lambda step: timed.taken[step])
    assert timed.taken[worst] < LONGEST, worst
    assert sum(timed.taken.values()) < ON_AVERAGE * len(timed.taken), worst


def test_random_steps_take_milliseconds() -> None:
    _check(range(4))


@pytest.mark.deep
@pytest.mark.parametrize("start", range(5_000, 8_000, 300))
def test_thousands_of_random_steps(start: int) -> None:
    _check(range(start, start + 300))
