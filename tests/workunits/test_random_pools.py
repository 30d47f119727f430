"""Random numbers of pools: the same in all spaces, others in each dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import InvalidArgument, WorkUnitRefused
from polygen.python.names.random_words import random_word
from tests.oracle.random_numbers import philox

N = 2000


@pk.workunit
def fill(i: int, x: pk.View2D[pk.double], pool: pk.RandomPool) -> None:
    state = pool.get_state()
    x[i, 0] = state.drand()
    x[i, 1] = state.rand(10)
    x[i, 2] = state.drand(2.0, 3.0)
    x[i, 3] = state.rand(-5, 5)
    x[i, 4] = state.normal()
    x[i, 5] = state.frand() + state.frand(2.0)
    x[i, 6] = state.normal(3.0, 0.5)
    pool.free_state(state)


def filled(space: Any, count: int) -> list[Any]:
    pool, found = pk.Random_XorShift64_Pool(5), []
    for _ in range(2):
        x = np.zeros((count, 7))
        pk.parallel_for(pk.RangePolicy(space, 0, count), fill, x=x, pool=pool)
        found.append(x)
    return found


def test_the_same_in_all_spaces() -> None:
    plain, compiled = filled(pk.Debug, 20), filled(pk.Serial, 20)
    np.testing.assert_allclose(compiled, plain, 1e-14)
    assert not np.allclose(plain[0], plain[1])


def test_distributions() -> None:
    """Means and deviations within six standard errors."""
    x, _ = filled(pk.Serial, N)
    close = 6 / np.sqrt(N)
    assert abs(x[:, 0].mean() - 0.5) < close * 0.29
    assert abs(x[:, 0].std() - 12**-0.5) < close * 0.29
    assert set(x[:, 1]) == set(range(10))
    assert 2 <= x[:, 2].min() < 2.01
    assert 2.99 < x[:, 2].max() < 3
    assert set(x[:, 3]) == set(range(-5, 5))
    assert abs(x[:, 4].mean()) < close
    assert abs(x[:, 4].std() - 1) < close
    assert abs(x[:, 6].mean() - 3) < close * 0.5
    assert abs(np.corrcoef(x[:-1, 0], x[1:, 0])[0, 1]) < close
    assert abs(np.corrcoef(x[:, 0], x[:, 2])[0, 1]) < close


@pk.functor
class Circle:
    """Counts points in a circle, with a pool as an attribute."""

    def __init__(self) -> None:
        self.pool = pk.RandomPool(3)

    @pk.workunit
    def hits(self, _i: int, acc: pk.Acc[pk.int64]) -> None:
        state = self.pool.get_state()
        a = state.drand()
        b = state.drand()
        if a * a + b * b < 1.0:
            acc += 1
        self.pool.free_state(state)


def test_pools_of_objects() -> None:
    found = [
        pk.parallel_reduce(pk.RangePolicy(space, 0, N), Circle().hits)
        for space in (pk.Debug, pk.Serial)
    ]
    assert found[0] == found[1]
    assert abs(found[0] / N - np.pi / 4) < 6 * 0.41 / np.sqrt(N)


def test_words() -> None:
    """As the paper's function has them, in Python's integers."""
    for words in ((1, 2, 3, 4, 5, 6), (2**64 - 1, 0, 2**40, 7, 8, 9)):
        key, more, *counter = words
        assert int(random_word(*words)) == philox(counter, (key, more), 64)[0]
    assert float(pk.rand(1, 2)) == float(pk.rand(1, 2)) != float(pk.rand(2, 2))
    assert pk.random_uint64(1, 2).dtype == np.uint64


@pk.workunit
def in_choice(i: int, x: Any, pool: pk.RandomPool) -> None:
    state = pool.get_state()
    x[i] = state.drand() if i > 2 else 0.0


@pk.workunit
def unknown(i: int, x: Any, pool: pk.RandomPool) -> None:
    state = pool.get_state()
    x[i] = state.drand(1, 2, 3)


def test_refused() -> None:
    arguments = {"x": np.zeros(3), "pool": pk.RandomPool(1)}
    with pytest.raises(WorkUnitRefused, match="a choice in an expression has"):
        pk.parallel_for(pk.RangePolicy(pk.Serial, 0, 3), in_choice, **arguments)
    with pytest.raises(WorkUnitRefused, match="a random state has no 'drand' of these"):
        pk.parallel_for(pk.RangePolicy(pk.Serial, 0, 3), unknown, **arguments)
    with pytest.raises(InvalidArgument, match="'drand' of a random state is given 3 numbers"):
        pk.parallel_for(pk.RangePolicy(pk.Debug, 0, 3), unknown, **arguments)
