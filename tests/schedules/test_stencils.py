"""Stencils on grids: rows in registers, layers one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from examples import register_stencils
from tests.schedules.test_products import LIMITS, kernel


def cross(a: Any) -> Any:
    """Return the sum of four neighbours, at the cells inside."""
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]


def test_rows_of_any_sizes() -> None:
    knl = kernel(
        "{ [i,j]: 1<=i<n-1 and 1<=j<m-1 }",
        "b[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]",
        pg.GlobalArg("a, b", "float32", "n,m"),
        target="opencl",
        assumptions="n >= 2 and m >= 2",
    )
    fast = pg.optimize(knl, LIMITS, sizes={"n": 8192, "m": 8192})
    assert str(fast.choices[0]).startswith("4 rows for each work item: 'a' is read")
    for n, m in ((2, 2), (3, 3), (17, 140)):
        a = np.random.default_rng(n).integers(0, 9, (n, m)).astype(np.float32)
        b = np.zeros_like(a)
        fast(a=a, b=b)
        np.testing.assert_array_equal(b[1:-1, 1:-1], cross(a))
        assert not b[0].any()
        assert not b[:, 0].any()


def test_columns_as_vectors_where_rows_begin_with_some() -> None:
    """Each item has 4 x 4 cells, of which it loads 6 x 4 as vectors, and the two sides."""
    knl = pg.assume(register_stencils.make_plate(), "n mod 4 = 0 and m mod 2048 = 0")
    knl = pg.prioritize_loops(knl.copy(target="opencl"), "i, j")
    fast = pg.optimize(knl, LIMITS, sizes={"n": 16384, "m": 16384})
    assert "4 rows and 4 columns" in str(fast.choices[0])
    source = str(pg.generate_code(fast))
    assert "float4" in source
    register_stencils.check_plate(fast, "opencl", 8, 2048)


@pytest.mark.more
def test_layers_one_after_the_other() -> None:
    knl = pg.assume(register_stencils.make_block(), "l mod 8 = 0 and n mod 8 = 0 and m mod 256 = 0")
    knl = pg.prioritize_loops(knl.copy(target="opencl"), "h, i, j")
    fast = pg.optimize(knl, LIMITS, sizes={"l": 768, "n": 768, "m": 768})
    assert "layers one after the other" in str(fast.choices[0])
    register_stencils.check_block(fast, "opencl", (16, 8, 256))


@pytest.mark.more
def test_layers_of_any_number_are_no_loop() -> None:
    knl = register_stencils.make_block().copy(target="opencl")
    knl = pg.prioritize_loops(knl, "h, i, j")
    fast = pg.optimize(knl, LIMITS, sizes={"l": 768, "n": 768, "m": 768})
    assert str(fast.choices[0]).startswith("4 rows for each work item")
    register_stencils.check_block(fast, "opencl", (3, 5, 70))


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("b[i,j] = a[i,j-1] + a[i,j] + a[i,j+1]", 8192),  # rows share nothing
        ("b[i,j] = a[i-1,j] + a[i,j] + a[i+1,j]", 300),  # too little to do
        ("b[i,j] = a[i-1,j] + a[i,j] + a[j,i]", 8192),  # not a constant away
        ("a[i,j] = a[i-1,j] + a[i,j] + a[i+1,j]", 8192),  # one row needs the other
    ],
)
def test_what_is_no_stencil(text: str, n: int) -> None:
    knl = kernel(
        "{ [i,j]: 1<=i,j<n-1 }",
        text,
        pg.GlobalArg("a, b" if "b[" in text else "a", "float32", "n,n"),
        target="cuda",
        loop_priority="i, j",
    )
    fast = pg.optimize(knl, LIMITS, sizes={"n": n})
    assert not any("rows" in str(choice) for choice in fast.choices)
