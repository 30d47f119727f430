"""Scans from group to group on a GPU, where groups run at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.nvidia.looked_back import OPERATIONS, alone, numbers, running, told


@pytest.mark.parametrize("what", OPERATIONS, ids=" ".join)
def test_scans(what: tuple[str, str]) -> None:
    """Many groups, often: none takes what another one has not told yet."""
    run = running(*what, length=256).executor("cuda")
    for n in (1, 255, 257, 100_003, 2**20, 2**20 + 1):
        a = numbers(*what, n)
        if what == ("sum", "float32"):
            a[np.abs(np.cumsum(a, dtype=np.float64)) > 2**23] = 0
        for _ in range(5):
            (b,) = run(a=a)[1]
            np.testing.assert_array_equal(b, OPERATIONS[what](a))


@pytest.mark.parametrize("small", [True, False])
def test_the_collective_alone(small: bool) -> None:
    rng, run = np.random.default_rng(4), alone(small).executor("cuda")
    dtype = np.int32 if small else np.int64
    for part in (1, 31, 32, 33, 1000):
        for nearest in {0, part // 2, part - 1}:
            state, own, before = told(small, part, nearest, rng)
            _, found = run(
                state=state,
                own=np.array([own], dtype),
                taken=np.zeros(1, dtype),
                part=part,
                m=len(state),
            )
            assert before in [int(values[0]) for values in found]
