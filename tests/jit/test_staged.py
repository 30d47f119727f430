"""Loops that sizes and scalars decide: solved once, picked at each call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg


def shift(a: Any, b: Any, n: int, k: int) -> None:
    for i in range(0, n, 1):
        a[i + k] = a[i] + b[i]


def both(text: str, name: str) -> tuple[Any, Any]:
    """Return a function as Python runs it, and compiled."""
    scope: dict[str, Any] = {"np": np, "pg": pg}
    exec(text, scope)  # noqa: S102
    return scope[name], pg.jit(scope[name], source=text)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return pg.jit(shift)


@pytest.mark.parametrize("n", [2, 9, 10])
def test_a_shift_by_a_scalar(compiled: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    for k in range(-25, 16):  # negative subscripts count from the end, and may meet the others
        a, b = rng.random(25), rng.random(10)
        wanted = a.copy()
        try:
            shift(wanted, b, n, k)
        except IndexError:
            continue
        compiled(a, b, n, k)
        np.testing.assert_array_equal(a, wanted)


def test_what_is_explained() -> None:
    compiled = pg.jit(shift)
    a, b = np.arange(25.0), np.ones(10)
    for k in (0, 3, -3, 3):
        compiled(a, b, 10, k)
    text = compiled.explain()
    assert "if k <= 0 or n <= k: i parallel" in text
    assert "i parallel, with the old values of a" in text
    assert "otherwise: as it is" in text


def test_a_kernel_is_made_when_a_call_needs_it() -> None:
    fresh = pg.jit(shift)
    a, b = np.arange(25.0), np.ones(10)
    fresh(a, b, 10, 12)
    assert "otherwise" not in fresh.explain()
    fresh(a, b, 10, 2)
    assert "otherwise" in fresh.explain()


def test_rows_of_a_matrix_at_a_distance() -> None:
    plain, compiled = both(
        """
def f(a, p, q):
    n, m = a.shape
    for i in range(n - 4):
        for j in range(m - 4):
            a[i + p, j + q] = 0.5*a[i, j] + 1
""",
        "f",
    )
    rng = np.random.default_rng(0)
    for p in range(5):
        for q in range(5):
            a = rng.random((9, 11))
            wanted = a.copy()
            plain(wanted, p, q)
            compiled(a, p, q)
            np.testing.assert_array_equal(a, wanted)
    assert "parallel" in compiled.explain()
