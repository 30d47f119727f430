"""Sorting by bins, beside NumPy's sort; timers."""

from __future__ import annotations

import time

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import InvalidArgument

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("within", [False, True])
def test_one_dimension(within: bool) -> None:
    values = RNG.random(200) * 3
    values[7] = 3.0
    keys, others = pk.from_numpy(values.copy()), pk.from_numpy(np.arange(200))
    sorting = pk.BinSort(keys, pk.BinOp1D(keys, 10, 0.0, 3.0), within)
    sorting.create_permute_vector()
    sorting.sort(others)
    sorting.sort(keys)
    bins = np.floor(values / 0.3).astype(int)
    found = np.asarray(keys)
    order = np.lexsort((values, bins)) if within else np.argsort(bins, kind="stable")
    np.testing.assert_array_equal(found, values[order])
    np.testing.assert_array_equal(np.asarray(others), order)
    np.testing.assert_array_equal(np.asarray(sorting.get_permute_vector()), order)
    counts = np.asarray(sorting.get_bin_count())
    np.testing.assert_array_equal(counts, np.bincount(bins, minlength=11))
    offsets = np.asarray(sorting.get_bin_offsets())
    np.testing.assert_array_equal(offsets, np.r_[0, counts.cumsum()[:-1]])


def test_three_dimensions() -> None:
    points = RNG.random((50, 3))
    points[0] = 1.0
    keys = pk.from_numpy(points.copy())
    sorting = pk.BinSort(keys, pk.BinOp3D([2, 3, 4], [0.0] * 3, [1.0] * 3))
    sorting.sort(keys)
    x, y, z = (np.minimum(points * [2, 3, 4], [1, 2, 3]).astype(int)).T
    bins = (x * 3 + y) * 4 + z
    np.testing.assert_array_equal(np.asarray(keys), points[np.argsort(bins, kind="stable")])
    assert np.asarray(sorting.get_bin_count()).sum() == 50


def test_refused() -> None:
    keys = pk.from_numpy(np.array([0.5, 2.5]))
    with pytest.raises(InvalidArgument, match="keys are in bins 0 to 2, and there are bins 0 to 1"):
        pk.BinSort(keys, pk.BinOp1D(1, 0.0, 1.0)).create_permute_vector()
    with pytest.raises(InvalidArgument, match=r"bins reach from 1\.0 to 1\.0"):
        pk.BinOp1D(4, 1.0, 1.0)
    with pytest.raises(InvalidArgument, match="BinOp1D is given 2 arguments"):
        pk.BinOp1D(4, 1.0)
    with pytest.raises(InvalidArgument, match="a view with 3 rows is sorted by 2 keys"):
        pk.BinSort(keys, pk.BinOp1D(3, 0.0, 3.0)).sort(pk.View([3]))


def test_timer() -> None:
    timer = pk.Timer()
    time.sleep(0.01)
    assert timer.seconds() >= 0.01
    before = timer.seconds()
    timer.reset()
    assert timer.seconds() < before + 1
