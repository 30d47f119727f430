"""Several rows of a stencil at once, on processors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.schedules.test_optimize import LIMITS, kernel

CROSS = "0.2*(a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1] + a[i,j])"
INSIDE = "{ [i,j]: 1<=i<n-1 and 1<=j<m-1 }"


def plane(text: str = f"b[i,j] = {CROSS}", dtype: Any = "float64", domain: str = INSIDE) -> Kernel:
    return kernel(domain, text, pg.GlobalArg("a, b", dtype, "n, m"), loop_priority="i, j")


def optimized(knl: Kernel, **sizes: int) -> Kernel:
    return pg.optimize(knl, LIMITS, sizes=sizes or {"n": 3000, "m": 3000})


def has_rows_at_once(knl: Kernel) -> bool:
    return "ilp" in map(str, knl.tags.values())


def crossed(a: Any) -> Any:
    found = np.zeros_like(a)
    around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[1:-1, 1:-1]
    found[1:-1, 1:-1] = a.dtype.type(0.2) * around
    return found


@pytest.mark.parametrize(
    ("text", "dtype", "lanes"),
    [
        (f"b[i,j] = {CROSS}", "float64", 4),
        (f"<> value = {CROSS}\nb[i,j] = value", "float32", 8),
    ],
    ids=["doubles", "floats"],
)
def test_rows_are_computed_at_once(text: str, dtype: str, lanes: int) -> None:
    new = optimized(plane(text, dtype))
    assert f"4 iterations of 'i' at once, vectors of {lanes} along 'j'" in str(new.choices[0])
    for n, m in ((0, 0), (1, 1), (2, 9), (3, 3), (6, 11), (13, 70)):
        a = np.random.default_rng(n).random((n, m)).astype(dtype)
        b = np.zeros_like(a)
        new(a=a, b=b)
        wanted = crossed(a) if min(n, m) > 2 else b * 0
        np.testing.assert_allclose(b, wanted, rtol=1e-6 if dtype == "float32" else 1e-14)


def test_lines_of_planes_are_computed_at_once() -> None:
    """The two innermost loops are rows and columns; the third is around them."""
    knl = kernel(
        "{ [i,j,k]: 1<=i<n-1 and 1<=j<n-1 and 1<=k<n-1 }",
        "b[i,j,k] = a[i-1,j,k] + a[i+1,j,k] + a[i,j-1,k] + a[i,j+1,k]",
        pg.GlobalArg("a, b", "float64", "n, n, n"),
        loop_priority="i, j, k",
    )
    new = optimized(knl, n=500)
    assert any("iterations of 'j' at once" in choice.what for choice in new.choices)
    a = np.random.default_rng(1).random((9, 9, 9))
    b = np.zeros_like(a)
    new(a=a, b=b)
    wanted = np.zeros_like(a)
    wanted[1:-1, 1:-1, 1:-1] = (
        a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    )
    np.testing.assert_allclose(b, wanted, rtol=1e-14)


def test_rows_are_one_by_one_where_nothing_is_gained() -> None:
    assert not has_rows_at_once(optimized(plane(), n=3000, m=300))  # they stay in the cache
    assert not has_rows_at_once(optimized(plane(), n=12, m=3000))
    assert not has_rows_at_once(optimized(plane("b[i,j] = a[i,j] + a[i,j-1]")))  # none is shared
    assert not has_rows_at_once(optimized(plane("b[i,j] = a[i-1,j] + sin(a[i+1,j])")))
    assert not has_rows_at_once(optimized(plane("b[i,j] = a[i-1,j] + a[i,j]  {if=i < j}")))


def test_rows_that_need_each_other_are_one_by_one() -> None:
    new = optimized(plane("b[i,j] = b[i-1,j] + a[i-1,j] + a[i+1,j]"))
    assert not has_rows_at_once(new)
    a = np.random.default_rng(2).random((20, 30))
    b, wanted = np.zeros_like(a), np.zeros_like(a)
    for i in range(1, 19):
        wanted[i, 1:-1] = wanted[i - 1, 1:-1] + a[i - 1, 1:-1] + a[i + 1, 1:-1]
    new(a=a, b=b)
    np.testing.assert_allclose(b, wanted, rtol=1e-14)


def test_rows_of_many_nests_are_one_by_one() -> None:
    lines = [f"a{k + 1}[i{k},j{k}] = a{k}[i{k}-1,j{k}] + a{k}[i{k}+1,j{k}]" for k in range(9)]
    for count, are_many in ((8, False), (9, True)):
        knl = kernel(
            [f"{{ [i{k},j{k}]: 1<=i{k},j{k}<n-1 }}" for k in range(count)],
            "\n".join(lines[:count]),
            pg.GlobalArg(", ".join(f"a{k}" for k in range(10)), "float64", "n, n"),
            loop_priority=[f"i{k}, j{k}" for k in range(count)],
            seq_dependencies=True,
        )
        new = optimized(knl)
        assert has_rows_at_once(new) is not are_many
        left = [c for c in new.choices if "more than 8 such nests" in c.why and not c.is_taken]
        assert len(left) == (9 if are_many else 0)
