"""Kernels that change the layout of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

# Strides in elements for the shape (3, 4, 5), found by hand.
LAYOUTS: list[tuple[str, tuple[int, ...]]] = [
    ("C,C,C", (20, 5, 1)),
    ("f,f,f", (1, 3, 12)),
    ("N0,N1,N2", (1, 3, 12)),
    ("N1,N0,N2", (4, 1, 12)),
    ("N1, N2, N0", (5, 15, 1)),
    ("stride:1,stride:7,stride:7*n1", (1, 7, 28)),
    ("stride:64,c,c", (64, 5, 1)),
]
KERNELS = {tags: pg.make_copy_kernel(tags) for tags, _ in LAYOUTS}
BACK = {tags: pg.make_copy_kernel("C,C,C", tags) for tags, _ in LAYOUTS}


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize(("tags", "strides"), LAYOUTS)
def test_there_and_back(tags: str, strides: tuple[int, ...], target: str) -> None:
    there, back = KERNELS[tags].executor(target), BACK[tags].executor(target)
    given = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    _, (new,) = there(input=given)
    assert new.strides == tuple(4 * s for s in strides)
    np.testing.assert_array_equal(new, given)
    _, (old,) = back(input=new)
    assert old.flags.c_contiguous
    np.testing.assert_array_equal(old, given)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 2), (17, 13)])
def test_sizes(shape: Any, target: str) -> None:
    given = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    _, (new,) = TRANSPOSED.executor(target)(input=given)
    np.testing.assert_array_equal(new, given)
    assert new.flags.f_contiguous


TRANSPOSED = pg.make_copy_kernel("F,F")


def test_arrays_of_another_layout_are_refused() -> None:
    with pytest.raises(pg.errors.WrongStrides):
        KERNELS["C,C,C"](input=np.zeros((3, 4, 5)).T)


def test_it_reads_back() -> None:
    for knl in (*KERNELS.values(), *BACK.values()):
        assert pg.parse_kernel(str(knl)) == knl
