"""Lists as arguments, policies of one index, and policies with a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import RaceFound, ReadOnlyOutput, UnsupportedSpace, ViewMismatch


@pk.workunit
def to_the_first(i: int, x: pk.View1D[pk.double]) -> None:
    x[0] = 2.0 * x[0] + i + 1.0


@pk.workunit
def at_a_corner(i: int, j: int, x: pk.View1D[pk.double]) -> None:
    x[j] = 2.0 * x[j] + 1.0


@pk.workunit
def weighted(i: int, acc: pk.Acc[pk.double], x: Any, weights: Any) -> None:
    for k in range(3):
        acc += weights[k] * x[i]


@pk.workunit
def writing(i: int, x: Any, weights: Any) -> None:
    weights[i] = x[i]


def test_one_index_does_not_race() -> None:
    x = np.zeros(4)
    pk.parallel_for(1, to_the_first, x=x)
    pk.parallel_for(pk.RangePolicy(6, 7), to_the_first, x=x)
    assert x[0] == 2 * 1 + 7
    for policy in (2, pk.RangePolicy(6, 8)):
        with pytest.raises(RaceFound):
            pk.parallel_for(policy, to_the_first, x=x)
    pk.parallel_for(1, to_the_first, x=x)
    assert x[0] == 2 * 9 + 1
    pk.parallel_for(pk.MDRangePolicy([0, 0], [1, 4]), at_a_corner, x=x)
    np.testing.assert_array_equal(x, [39, 1, 1, 1])
    with pytest.raises(RaceFound):
        pk.parallel_for(pk.MDRangePolicy([0, 0], [2, 4]), at_a_corner, x=x)


@pytest.mark.parametrize("space", [pk.Debug, pk.OpenMP])
def test_lists_are_arrays(space: pk.ExecutionSpace) -> None:
    x = np.arange(5.0)
    policy = pk.RangePolicy(space, 0, 5)
    for weights in ([1.0, 2.0, 0.5], (1, 2, 3)):
        found = pk.parallel_reduce(policy, weighted, x=x, weights=weights)
        assert found == sum(weights) * 10
    with pytest.raises(ViewMismatch, match="'weights' is a list of something else than numbers"):
        pk.parallel_reduce(policy, weighted, x=x, weights=["a"])


def test_lists_are_not_written() -> None:
    with pytest.raises(ReadOnlyOutput, match="'weights' is written"):
        pk.parallel_for(3, writing, x=np.zeros(3), weights=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="read-only"):
        pk.parallel_for(
            pk.RangePolicy(pk.Debug, 0, 3), writing, x=np.zeros(3), weights=[1.0, 2.0, 3.0]
        )


def test_streams_and_calls_that_wait() -> None:
    x = pk.View([1], pk.double)
    stream = pk.ExecutionSpaceInstance(pk.OpenMP, 3)
    with pk.lazy():
        pk.parallel_for(1, to_the_first, x=x)
        # What waits runs first; a dispatch in a stream does not wait.
        pk.parallel_for(pk.RangePolicy(stream, 1, 2), to_the_first, x=x)
        assert x.traced_array[0] == 2 * 1 + 2
        pk.parallel_for(pk.RangePolicy(stream, 2, 3), to_the_first, x=x)
    assert float(x[0]) == 2 * 4 + 3


def test_memory_of_hip_is_refused() -> None:
    for space in (pk.HIPSpace, pk.HIP):
        with pytest.raises(UnsupportedSpace, match="has no HIP"):
            pk.View([2], pk.double, space=space)
