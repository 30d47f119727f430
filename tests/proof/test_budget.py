"""Budgets of steps: random kernels of a few loops, and random steps of all kinds.

Time is that of the processor, with room for slow machines: as a rule a step takes 5 ms.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module

import islpy
import pytest

import polygen as pg
from polygen.analysis.integers.proving import limited_attempt
from polygen.analysis.wellformed.open_nests import same_in_every_nest
from polygen.errors import IllegalStep, ProofLimit, UserError
from polygen.ir.kernel import Kernel
from tests.proof.any_step import AnyStep
from tests.proof.sequences import random_sequence
from tests.properties.every_step import random_step

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.PolygenWarning")

DEAR = ("fuse_loops", "join_inames", "split_iname", "wavefront")
LONGEST, ON_AVERAGE = 6.0, 0.03  # seconds


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


def _kernel(domains: list[str], text: str, *order: str) -> Kernel:
    shapes = {"a": "24", "b": "24", "c": "24", "e": "24", "d": "24, 24"}
    return pg.make_kernel(
        domains,
        text,
        [*(pg.GlobalArg(n, "float64", s) for n, s in shapes.items() if f"{n}[" in text), "..."],
        assumptions="0 <= m <= 7 and 0 <= n <= 7",
        loop_priority=list(order),
    )


@pytest.mark.deep
def test_recurrences_are_not_computed_anew() -> None:
    """What an instruction makes of its own results is not followed to where that began."""
    knl = _kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        "a[i] = a[j % 3] + 1  {id=s0}\nb[j + 5] = d[i + j + 2, i + 4] + a[i - j + 8] + 2  {dep=s0}",
        "j, i",
    )
    start = time.process_time()
    with pytest.raises(IllegalStep):
        pg.wavefront(knl, "j", "i", "g.0")
    assert time.process_time() - start < LONGEST


def _nests() -> Kernel:
    """Return a kernel of which it is much work to tell whether it matters which loop is outside."""
    knl = _kernel(
        ["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<m and (i + j) mod 2 = 0 }"],
        """
        a[n - j + 7] = d[i + 2, j + 2] + 1  {id=s0}
        b[i] = a[i + j + 2] + b[i] + 2  {id=s1, dep=s0}
        a[i - j + 8] = b[j + 4] + 3  {id=s2, dep=s0:s1}
        """,
    )
    return pg.assume(knl, "n <= m")


def test_which_loop_is_outside_is_no_search_without_end() -> None:
    knl = _nests()
    start = time.process_time()
    with suppress(UserError):
        pg.split_iname(knl, "j", 4)
    assert time.process_time() - start < LONGEST


def test_nests_that_are_too_much_work_are_taken_to_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = _kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [p]: 0<=p<24 }"],
        "a[i + j] = c[i]  {id=s0}\na[p] = 0  {dep=s0}",  # nothing is left of the first
        "i, j",
    ).copy(priorities=())
    assert same_in_every_nest(knl, "a", ("i", "j"))
    little = partial(limited_attempt, 100)
    monkeypatch.setattr("polygen.analysis.wellformed.open_nests.limited_attempt", little)
    assert not same_in_every_nest(knl.copy(), "a", ("i", "j"))


def test_all_of_a_step_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is done beside the step itself and its proof."""

    def much(*_: object) -> None:
        for _each in range(10_000):
            islpy.Set("[n] -> { [i]: 0 <= i < n }")

    knl = _nests()
    monkeypatch.setattr(import_module("polygen.transformation.step"), "verify", much)
    monkeypatch.setattr("polygen.analysis.integers.proving.MOST_IN_A_STEP", 10_000)
    with pytest.raises(ProofLimit, match="rename_iname could not be taken"):
        pg.rename_iname(knl, "j", "q")


@pytest.mark.deep
@pytest.mark.parametrize("start", range(5_000, 8_000, 300))
def test_thousands_of_random_steps(start: int) -> None:
    _check(range(start, start + 300))
