"""Schedules of random kernels beside the kernels as they are: the least times of some calls.

Threads take some time to come, the more the busier the machine is: that is allowed for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.random_kernels.check import make_case
from tests.random_kernels.layouts import passed
from tests.random_kernels.maker import arguments_of

LIMITS = pg.Limits(2e10, 3e10, compute_units=2)
SIZES = {"n": 22, "m": 18}
MOST, WAKING = 1.2, 100e-6  # times as long; seconds in which threads come
CALLS, ROUNDS = 5, 12

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("NotParallel", "NotVectorized", "SeparationIgnored", "PriorityIgnored")
]


def call_of(knl: Kernel, arguments: dict[str, Any]) -> Callable[[], object]:
    own = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
    given, run = passed(knl, own), knl.executor("c")
    return lambda: run(**given)


def least(run: Callable[[], object]) -> float:
    found = float("inf")
    for _ in range(CALLS):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def both_times(plain: Callable[[], object], new: Callable[[], object]) -> tuple[float, float]:
    """Return the least times of two calls, which take turns until the second is fast enough."""
    first, second = least(plain), least(new)
    for _ in range(ROUNDS):
        first, second = min(first, least(plain)), min(second, least(new))
        if second <= MOST * first + WAKING:
            break
    return first, second


@pytest.mark.deep
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("seeds", [range(s, s + 20) for s in range(60_000, 60_100, 20)], ids=str)
def test_schedules_are_not_slower(seeds: range) -> None:
    slower: list[str] = []
    measured = 0
    for seed in seeds:
        case = make_case(seed)
        plain = case.changed.copy(target="c")
        new = pg.optimize(plain, LIMITS, sizes=SIZES)
        arguments = arguments_of(case.kernel, SIZES, seed)
        try:
            calls = call_of(plain, arguments), call_of(new, arguments)
        except UserError:  # there is no code for it, as it is
            continue
        if new.history != plain.history:
            measured += 1
            first, second = both_times(*calls)
            if second > MOST * first + WAKING:
                slower.append(f"seed {seed}: {first:.1e} s, after optimize {second:.1e} s")
    assert measured
    assert not slower, "\n".join(slower)
