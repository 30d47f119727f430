"""Functions that say how loops run, in plain Python: they do what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest

from polygen.errors import InvalidArgument
from polygen.python.annotations import (
    MVL,
    atomic_add,
    atomic_max,
    atomic_min,
    atomic_sub,
    prange,
    vidx,
    where,
)


def test_prange_is_range() -> None:
    assert prange(4) == range(4)
    assert prange(2, 9) == range(2, 9)
    assert prange(9, 2, -3) == range(9, 2, -3)
    with pytest.raises(InvalidArgument):
        prange(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 1, MVL - 1, MVL, MVL + 1, 3 * MVL + 5])
def test_strips_of_a_vector_are_the_vector(n: int) -> None:
    x, y = np.arange(float(n)), np.zeros(n)
    for i in range(0, n, MVL):
        at = vidx(i, MVL, bound=n)
        assert len(at) <= MVL
        y[at] = where(x[at] % 2 == 0, x[at], -x[at])
    np.testing.assert_array_equal(y, [v if v % 2 == 0 else -v for v in x])


def test_without_a_bound_all_lanes_are_there() -> None:
    assert list(vidx(3, 4)) == [3, 4, 5, 6]
    assert list(vidx(3, 4, 2)) == []


def test_updates_count_each_subscript() -> None:
    x = np.array([5.0, 5.0, 5.0])
    atomic_add(x, (0,), 2.0)
    atomic_sub(x, [1, 1], 1.5)
    atomic_min(x, 2, 4.0)
    atomic_max(x, slice(0, 2), 6.0)
    assert list(x) == [7.0, 6.0, 4.0]
