"""Element-wise nests of unknown sizes on grids: several elements for each work item."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.tags import UnrollTag, VectorTag
from tests.language.called_kernels import ROWS
from tests.schedules.test_products import LIMITS, kernel

LINE = "{ [i]: 0<=i<n }"
MANY = {"n": 2**26, "m": 2**13}


def test_elements_a_group_apart() -> None:
    knl = kernel(
        LINE,
        "<> t = a[i]*a[i]\nb[i] = t + 1\nc[i] = t*t",
        pg.GlobalArg("a, b, c", "float64", "n"),
        target="opencl",
    )
    fast = pg.optimize(knl, LIMITS, sizes=MANY)
    assert "4, 256 apart" in str(fast.choices[-1])
    assert UnrollTag() in fast.tags.values()
    for n in (0, 1, 255, 1025, 3000):
        a = np.random.default_rng(n).integers(0, 9, n).astype(float)
        _, (b, c) = fast(a=a)
        np.testing.assert_array_equal(b, a * a + 1)
        np.testing.assert_array_equal(c, a**4)


@pytest.mark.parametrize(
    ("alignment", "whole", "is_vector"), [(16, True, True), (16, False, False), (4, True, False)]
)
def test_vectors_where_memory_has_some(alignment: int, whole: bool, is_vector: bool) -> None:
    arrays = [pg.GlobalArg(x, "float32", "n", alignment=alignment) for x in "ab"]
    knl = kernel(LINE, "b[i] = 2*a[i]", *arrays, target="cuda")
    knl = pg.assume(knl, "n mod 4 = 0") if whole else knl
    fast = pg.optimize(knl, LIMITS, sizes=MANY)
    assert (VectorTag() in fast.tags.values()) == is_vector


def test_loops_of_a_kernel_that_is_called() -> None:
    """They are no loops of this kernel: it is left as it is."""
    knl = pg.add_dtypes(ROWS.copy(target="opencl"), {"a": "float64"})
    fast = pg.optimize(knl, LIMITS, sizes=MANY)
    for n in (1, 5, 33):
        a = np.random.default_rng(n).random((n, n))
        np.testing.assert_array_equal(fast(a=a)[1][0], a.T * np.arange(n)[:, None])


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ("{ [i]: 0<=i<n }", "b[0] = a[i]  {inames=i}"),  # the last one counts
        ("{ [i]: 1<=i<n }", "b[i] = b[i-1] + a[i]"),  # one after the other
        ("{ [i,j]: 0<=i<n and 0<=j<=i }", "b[i] = a[j]  {inames=i:j}"),
    ],
)
def test_what_is_left_to_others(domain: str, text: str) -> None:
    knl = kernel(domain, text, pg.GlobalArg("a, b", "float32", "n"), target="cuda")
    fast = pg.optimize(knl, LIMITS, sizes=MANY)
    assert not any("several elements" in str(choice) for choice in fast.choices)
