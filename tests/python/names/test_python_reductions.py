"""Python's sum, max and min of arrays and tuples, beside Python itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

X = np.random.default_rng(0).random(20) - 0.5


def all_three(a: Any) -> tuple[Any, Any, Any]:
    return max(a), min(a), sum(a)


def of_rows(a: Any, low: Any, high: Any, total: Any, m: int, n: int) -> None:
    for i in range(m):
        low[i] = min(a[i, :n])
        high[i] = max(a[i])
        total[i] = sum(np.abs(a[i, :n]))


def of_parts(starts: Any, x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = max(x[starts[i] : starts[i + 1]]) + np.min(x[starts[i] : starts[i + 1]])


def numpy_of_parts(starts: Any, x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = np.max(x[starts[i] : starts[i + 1]])


def of_tuples(a: float, b: float) -> tuple[float, float]:
    return sum((a, b, 1.0)), max((a, b))


def at(where: int) -> Any:
    """Return numbers, one of which is none."""
    found = X.copy()
    found[where] = np.nan
    return found


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "given",
    [X, X[::-2], X[:1], at(0), at(3), X > 0, (X * 200).astype("int8"), np.full(9, 200, "uint8")],
    ids=["float", "backwards", "one", "none-first", "none-later", "bool", "int8", "uint8"],
)
def test_of_one_axis(given: Any) -> None:
    compiled = pg.jit(all_three, strict=True)
    found, wanted = compiled(given), all_three(given)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert [type(one) for one in found] == [type(one) for one in wanted]


def test_of_rows_parts_and_tuples() -> None:
    a = X.reshape(4, 5)
    found, wanted = np.zeros((3, 4)), np.zeros((3, 4))
    of_rows(a, wanted[0], wanted[1], wanted[2], 4, 5)
    pg.jit(of_rows, strict=True)(a, *found, 4, 5)
    np.testing.assert_allclose(found, wanted)
    y, own = np.zeros(3), np.zeros(3)
    of_parts(np.array([0, 3, 9, 20]), X, y, 3)
    compiled = pg.jit(of_parts, strict=True)
    compiled(np.array([0, 3, 9, 20]), X, own, 3)
    np.testing.assert_array_equal(own, y)
    assert pg.jit(of_tuples, strict=True)(1.5, 2.5) == (5.0, 2.5)


@pytest.mark.parametrize("function", [of_parts, numpy_of_parts])
def test_nothing_has_no_extreme(function: Any) -> None:
    starts = np.array([0, 3, 3, 20])
    with pytest.raises(ValueError) as wanted:
        function(starts, X, np.zeros(3), 3)
    with pytest.raises(ValueError) as found:
        pg.jit(function, strict=True)(starts, X, np.zeros(3), 3)
    assert str(found.value) == str(wanted.value)
