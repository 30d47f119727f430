"""Work units in the space `OpenCL`."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen.workunits as pk
from tests.workunits.agreement import agree
from tests.workunits.test_atomics import updates
from tests.workunits.test_teams import ROWS, X, convolved, filled


def test_teams_and_atomic_updates() -> None:
    near = 2 * ROWS
    near[:, 1:] += 2 * ROWS[:, :-1]
    near[:, :-1] += 2 * ROWS[:, 1:]
    agree(lambda s: filled(s, convolved, X.shape, x=X), near.ravel(), [pk.OpenCL])
    k = np.array([0, 1, 1, 2, 2, 2], np.int32)

    def run(space: Any) -> Any:
        h, old_values, g = np.zeros(6, int), np.zeros(6, int), np.zeros((3, 2))
        pk.parallel_for(pk.RangePolicy(space, 0, 6), updates, h=h, old_values=old_values, g=g, k=k)
        return np.concatenate([h, old_values, g.ravel()])

    agree(run, [2, 4, 6, 6, 5, 6, *[1] * 6, -6, 0.5, 0, 1, 0, 1.5], [pk.OpenCL])
