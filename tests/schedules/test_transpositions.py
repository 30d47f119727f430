"""Transpositions on grids: tiles in local memory, and where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.schedules.test_products import LIMITS, kernel

PLANE = "{ [i,j]: 0<=i<n and 0<=j<m }"
SQUARE = "{ [i,j]: 0<=i,j<n }"
LAYERS = "{ [i,j,e]: 0<=i<n and 0<=j<m and 0<=e<g }"


@pytest.mark.parametrize(
    ("text", "domain", "shapes", "expected"),
    [
        ("b[j,i] = 2*a[i,j]", PLANE, {"a": "n,m", "b": "m,n"}, lambda a: 2 * a.T),
        pytest.param(
            "b[i,j] = a[i,j] + 2*a[j,i]",
            SQUARE,
            {"a": "n,n", "b": "n,n"},
            lambda a: a + 2 * a.T,
            marks=pytest.mark.more,
        ),
        pytest.param(
            "b[j,e,i] = a[e,i,j] + 1",
            LAYERS,
            {"a": "g,n,m", "b": "m,g,n"},
            lambda a: a.transpose(2, 0, 1) + 1,
            marks=pytest.mark.more,
        ),
    ],
)
def test_rows_of_both_arrays_are_gone_along(
    text: str, domain: str, shapes: dict[str, str], expected: Callable[[Any], Any]
) -> None:
    arrays = [pg.GlobalArg(x, "float32", s) for x, s in shapes.items()]
    knl = kernel(domain, text, *arrays, target="opencl", name="turned")
    fast = pg.optimize(knl, LIMITS, sizes={"n": 4096, "m": 4096, "g": 16})
    assert "tiles of 64 x 64 of 'a' in local memory" in str(fast.choices[0])
    strides = pg.get_mem_access_map(fast, count_granularity="workitem")
    near = [(a.lid_strides or {}).get(0) for a, _ in strides.items() if a.mtype == "global"]
    assert near
    assert set(near) == {1}
    for sizes in ({"n": 0, "m": 3, "g": 2}, {"n": 1, "m": 1, "g": 1}, {"n": 70, "m": 33, "g": 3}):
        shape = tuple(sizes[name] for name in shapes["a"].split(","))
        a = np.random.default_rng(1).random(shape, np.float32)
        _, (found,) = fast(a=a)
        np.testing.assert_array_equal(found, expected(a))


def test_no_two_items_wait_for_one_bank() -> None:
    knl = kernel(PLANE, "b[j,i] = a[i,j]", pg.GlobalArg("a", "float32", "n,m"), target="cuda")
    fast = pg.optimize(knl, LIMITS, sizes={"n": 4096, "m": 4096})
    (tile,) = [t.name for t in fast.temporaries]
    assert {access.ways for access in pg.bank_conflicts(fast, tile)} == {1}


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("b[i,j] = a[i,j]", 4096),  # nothing lies across
        ("b[j,i] = a[i,j]", 100),  # too little to do
        ("b[j,i] = a[i,j]  {if=a[i,j] > 0}", 4096),  # not all of a tile is needed
        ("b[j,i] = a[i,p[j]]", 4096),  # data says where
    ],
)
def test_where_there_are_no_tiles(text: str, n: int) -> None:
    arrays = [pg.GlobalArg("a, b", "float32", "n,n"), pg.GlobalArg("p", "int32", "n")]
    used = arrays if "p[" in text else arrays[:1]
    fast = pg.optimize(kernel(SQUARE, text, *used, target="cuda"), LIMITS, sizes={"n": n})
    assert not any("in local memory" in str(choice) for choice in fast.choices)
    assert "l.0" in map(str, fast.tags.values())
