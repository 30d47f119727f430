"""Successive halving: candidates are timed in rounds, and the slower half leaves after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

Turn: TypeAlias = Callable[[float], float]

_FIRST = 0.02  # seconds of a turn in the first round; twice as many in each other one
_LAST = 3  # rounds in which two are left
_HOPELESS = 1.5  # times the least: no noise, on most machines


def halved(turns: Sequence[Turn], until: float = inf) -> list[float]:
    """Return the least time of each candidate that was found; infinite for those never timed.

    The first candidate is in all rounds, so that others are compared with it, unless it takes half
    as long again as another one.  Of the others, those stay that took least.  In a round,
    candidates take turns: what else the machine does disturbs all alike.

    Parameters:
        turns: of each candidate, a function that times it, for about as many seconds as it is
            given, and returns the least time of a call.
        until: when to stop, as `time.perf_counter` has it; the first candidate is timed anyway.

    Source: Jamieson, Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
    Optimization (AISTATS 2016).
    """
    least = [inf] * len(turns)
    field, seconds, last = list(range(len(turns))), _FIRST, 0
    while last < _LAST:
        last += len(field) == 2
        for one in field:
            if time.perf_counter() > until and (one or seconds > _FIRST):
                return least
            least[one] = min(least[one], turns[one](seconds))
        field = _left(field, least)
        seconds *= 2
        if len(field) < 2:
            break
    return least


def _left(field: Sequence[int], least: Sequence[float]) -> list[int]:
    """Return who is in the next round."""
    near = _HOPELESS * min(least[one] for one in field)
    others = sorted((one for one in field if one), key=lambda one: least[one])
    fewer = others[: max(1, len(others) // 2)]
    return [one for one in field if least[one] <= near and (one == 0 or one in fewer)]
