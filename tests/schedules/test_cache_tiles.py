"""Tiles of loops on processors: where arrays have their rows along different loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.schedules.test_optimize import kernel, names, optimized

PLANE = "{ [i,j]: 0<=i<n and 0<=j<m }"
SQUARE = "{ [i,j]: 0<=i,j<n }"


@pytest.mark.parametrize(
    ("text", "domain", "shapes", "expected"),
    [
        ("b[j,i] = 2*a[i,j]", PLANE, {"a": "n,m", "b": "m,n"}, lambda a: 2 * a.T),
        ("b[i,j] = a[i,j] + a[j,i]", SQUARE, {"a": "n,n", "b": "n,n"}, lambda a: a + a.T),
        (
            "b[j,e,i] = a[e,i,j]",
            "{ [i,j,e]: 0<=i<n and 0<=j<m and 0<=e<g }",
            {"a": "g,n,m", "b": "m,g,n"},
            lambda a: a.transpose(2, 0, 1),
        ),
        (
            "b[i,j] = a[j,i]",
            "{ [i,j]: 0<=j<=i<n }",
            {"a": "n,n", "b": "n,n"},
            lambda a: np.tril(a.T),
        ),
    ],
    ids=["transposed", "added", "layers", "triangle"],
)
def test_lines_of_both_arrays_stay_in_a_cache(
    text: str, domain: str, shapes: dict[str, str], expected: Callable[[Any], Any]
) -> None:
    arrays = [pg.GlobalArg(x, "float32", s) for x, s in shapes.items()]
    new = optimized(kernel(domain, text, *arrays), n=500, m=500, g=3)
    assert names(new).count("split_iname") == 2
    assert any(c.is_taken and "tiles of 64 iterations" in c.what for c in new.choices)
    for n, m in ((0, 3), (1, 1), (7, 65), (130, 64)):
        shape = [{"n": n, "m": m, "g": 2}[name] for name in shapes["a"].split(",")]
        a = np.random.default_rng(n).random(shape, np.float32)
        wanted = expected(a)
        b = np.zeros(wanted.shape, np.float32)
        new(a=a, b=b)
        np.testing.assert_array_equal(b, wanted)


def test_what_goes_along_rows_alone_has_no_tiles() -> None:
    assert "split_iname" not in names(optimized(kernel(SQUARE, "b[i,j] = 2*a[i,j]"), n=2000))
    assert "split_iname" not in names(optimized(kernel(SQUARE, "b[i,j] = a[i]*c[j]"), n=2000))


def test_small_planes_have_no_tiles() -> None:
    knl = kernel(PLANE, "b[j,i] = 2*a[i,j]")
    assert "split_iname" not in names(optimized(knl, n=100, m=100))
    assert "split_iname" not in names(optimized(knl, n=10**6, m=3))


def test_tiles_are_not_taken_where_data_forbids_them() -> None:
    """Each element goes on from one in the row above, further right."""
    knl = kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n-1 }",
        "b[i,j] = b[i-1,j+1] + a[j,i]",
        pg.GlobalArg("a, b", "float64", "n, n"),
        loop_priority="i, j",
    )
    new = optimized(knl, n=1000)
    assert "split_iname" not in names(new)
    assert any(not c.is_taken and "tiles of 64 iterations" in c.what for c in new.choices)
    a = np.random.default_rng(1).random((70, 70))
    b, wanted = np.ones_like(a), np.ones_like(a)
    for i in range(1, 70):
        wanted[i, :-1] = wanted[i - 1, 1:] + a[:-1, i]
    new(a=a, b=b)
    np.testing.assert_array_equal(b, wanted)
