"""What is copied before an assignment to a slice, which NumPy evaluates as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg

Array = np.ndarray[Any, Any]


def least_paths(p: Array, k: int) -> None:
    p[:] = np.minimum(p, np.add.outer(p[:, k], p[k, :]))


def without_first(p: Array, k: int) -> None:
    p[:] = p - p[k, k]


def without_row(p: Array, k: int) -> None:
    p[1:, :] -= p[k] * 2


def without_largest(p: Array, k: int) -> None:
    p[:] = p - p[:, k : k + 1].max()


def shifted(p: Array, k: int) -> None:
    p[1:] = p[:-1] + p[0, k]


def turned(p: Array, k: int) -> None:
    p[:] = p.T + k


def own_row(p: Array, k: int) -> None:
    p[k, :] = p[k] + p[k, k]


def apart(p: Array, k: int) -> None:
    p[k + 1 :, :] += p[k]


# The elements of temporaries: of n x n arrays.
_COPIED = [
    (least_paths, lambda n: 2 * n),
    (without_first, lambda n: 1),
    (without_row, lambda n: n),
    (without_largest, None),
    (shifted, lambda n: n * (n - 1)),
    (turned, lambda n: n * n),
    (own_row, lambda n: 1),
    (apart, lambda n: 0),
]


@pytest.mark.parametrize(("function", "count"), _COPIED, ids=lambda f: getattr(f, "__name__", ""))
def test_no_more_is_copied_than_others_read(
    function: Callable[[Array, int], None], count: Callable[[int], int] | None
) -> None:
    compiled = pg.jit(function, strict=True)
    for n in (1, 2, 5, 8):
        for k in {0, 1, n - 1} & set(range(n)):
            array = np.random.default_rng(n).integers(-50, 50, (n, n)).astype(float)
            meant = array.copy()
            function(meant, k)
            compiled(array, k)
            np.testing.assert_array_equal(array, meant)
    if count is not None:
        (kernel,) = compiled.kernels(np.ones((6, 6)), 2)
        known = pg.fix_parameters(kernel, **{n: 6 for n in kernel.parameters if n != "k"})
        sizes = [int(np.prod(t.shape or (1,), dtype=object)) for t in known.temporaries]
        assert sum(sizes) == count(6)


def in_pieces(x: Array, y: Array, apart: int) -> Array:
    for i in range(3):
        x[apart * i : apart * i + 4] = y
    return x


def test_pieces_that_data_bounds_are_as_long_as_what_they_get() -> None:
    compiled = pg.jit(in_pieces, strict=True)
    for n in (3, 8, 12, 20):
        for apart in (1, 4, 5, 9, -3):
            try:
                meant = in_pieces(np.zeros(n), np.arange(4.0), apart)
            except ValueError:
                with pytest.raises(ValueError, match="arrays of two shapes are assigned"):
                    compiled(np.zeros(n), np.arange(4.0), apart)
            else:
                found = compiled(np.zeros(n), np.arange(4.0), apart)
                np.testing.assert_array_equal(found, meant)
