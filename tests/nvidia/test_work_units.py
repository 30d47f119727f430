"""Work units in the space `Cuda`, through the part of CUDA that needs no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from tests.nvidia.host_driver import HostDriver
from tests.workunits.agreement import agree
from tests.workunits.test_atomics import updates
from tests.workunits.test_dispatch import RNG, product
from tests.workunits.test_random_pools import filled as randomly_filled
from tests.workunits.test_teams import LEAGUE, ROWS, X, convolved, filled, hierarchical, teams


@pytest.mark.usefixtures("host")
def test_team_with_scratch_memory() -> None:
    near = 2 * ROWS
    near[:, 1:] += 2 * ROWS[:, :-1]
    near[:, :-1] += 2 * ROWS[:, 1:]
    agree(lambda s: filled(s, convolved, X.shape, x=X), near.ravel(), [pk.Cuda])


def test_reductions(host: HostDriver) -> None:
    a, x = RNG.random((6, 5)), RNG.random(5)
    y = RNG.random(6)
    agree(
        lambda s: pk.parallel_reduce(pk.RangePolicy(s, 0, 6), product, y=y, A=a, x=x),
        y @ (a @ x),
        [pk.Cuda],
    )
    assert host.compiled > 0


@pytest.mark.more
@pytest.mark.usefixtures("host")
def test_more() -> None:
    b, v, w = RNG.random((LEAGUE, 6, 7)), RNG.random((LEAGUE, 7)), RNG.random((LEAGUE, 6))
    agree(
        lambda s: pk.parallel_reduce(teams(s, 3), hierarchical, A=b, x=v, y=w),
        np.einsum("ej,ejk,ek", w, b, v),
        [pk.Cuda],
    )
    k = np.array([0, 1, 1, 2, 2, 2], np.int32)

    def run(space: Any) -> Any:
        h, old_values, g = np.zeros(6, int), np.zeros(6, int), np.zeros((3, 2))
        pk.parallel_for(pk.RangePolicy(space, 0, 6), updates, h=h, old_values=old_values, g=g, k=k)
        return np.concatenate([h, old_values, g.ravel()])

    agree(run, [2, 4, 6, 6, 5, 6, *[1] * 6, -6, 0.5, 0, 1, 0, 1.5], [pk.Cuda])
    np.testing.assert_allclose(randomly_filled(pk.Cuda, 20), randomly_filled(pk.Debug, 20), 1e-14)
