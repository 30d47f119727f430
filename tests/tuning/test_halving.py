"""Successive halving: who is timed how often, and what is found."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

import pytest

from polygen.tuning.halving import halved


def race(times: list[float], until: float = inf) -> tuple[list[float], list[list[float]]]:
    """Return what is found, and for how many seconds each was looked at, in each turn."""
    asked: list[list[float]] = [[] for _ in times]

    def turn(one: int) -> Callable[[float], float]:
        def timed(seconds: float) -> float:
            asked[one].append(seconds)
            return times[one]

        return timed

    return halved([turn(one) for one in range(len(times))], until), asked


def test_half_of_them_leave_after_each_round() -> None:
    found, asked = race([1.0, 1.4, 1.1, 1.3, 1.05, 1.2, 1.01, 1.25, 1.35])
    assert found == [1.0, 1.4, 1.1, 1.3, 1.05, 1.2, 1.01, 1.25, 1.35]
    rounds = [len(turns) for turns in asked]
    # 9; the first and 4 others; the first and 2; the first and 1, for as long as two are left.
    assert rounds == [6, 1, 2, 1, 3, 2, 6, 1, 1]
    assert asked[0] == [0.02 * 2**k for k in range(6)]


def test_who_is_far_behind_leaves_at_once_and_the_first_one_as_well() -> None:
    _, asked = race([2.0, 1.0, 1.1, 1.6, 5.0])
    assert [len(turns) for turns in asked] == [1, 2, 2, 1, 1]


def test_the_least_time_counts() -> None:
    times = iter([3.0, 2.0, 2.5, 2.2, 1.0, 2.2, 3.0, 3.0])

    def turn(_: float) -> float:
        return next(times)

    assert halved([turn, turn])[0] == 1.0


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_one_is_timed_even_if_there_is_no_time(count: int) -> None:
    found, asked = race([1.0, 0.5, 0.7][:count], until=time.perf_counter() - 1)
    assert found == [1.0, inf, inf][:count]
    assert [len(turns) for turns in asked] == [1, 0, 0][:count]


def test_all_that_fail_are_asked_once_a_round() -> None:
    found, asked = race([inf, inf, 1.0])
    assert found == [inf, inf, 1.0]
    assert [len(turns) for turns in asked] == [1, 1, 1]
