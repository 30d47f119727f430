"""polygen.python.operators: types and values are NumPy's, for all pairs of types."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.python.compared import compare_in_rounds

Array = np.ndarray[Any, Any]


def whole_numbers(x: Array, y: Array) -> Any:
    return x + y, x - 2 * y, x * y, x // y, x % y, x & y, x | y, x ^ y, x < y, x == y, -x


def shifts(x: Array, y: Array) -> Any:
    return x << y, x >> y, ~x, x**2, abs(x)


def real_numbers(x: Array, y: Array) -> Any:
    return x + y, x - 2 * y, x * y, x / y, x // y, x % y, x <= y, -x, x**2, x * 0.1


def truth_values(x: Array, y: Array) -> Any:
    return x + y, x * y, x & y, x | y, x ^ y, ~x, x == y, x < y, x + 1


def complex_numbers(x: Array, y: Array) -> Any:
    return x + y, x * y, x - 1j, x == y, x.real, y.imag, np.abs(x), np.conj(y)


def test_arithmetic_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    calls: list[Any] = []
    pairs = [("int8", "int8"), ("int64", "int8"), ("uint8", "int16"), ("uint32", "int64")]
    for one, other in pairs:
        x = rng.integers(0, 100, 9).astype(one)
        y = rng.integers(1, 100, 9).astype(other)
        calls.append((whole_numbers, (x, y)))
        calls.append((shifts, (x, (y % 7).astype(one))))
    for one, other in (("float32", "float32"), ("float64", "int32"), ("float32", "float64")):
        x = (10 * rng.standard_normal(9)).astype(one)
        y = (10 * rng.standard_normal(9) + 20).astype(other)
        calls.append((real_numbers, (x, y)))
    bits = rng.integers(0, 2, (2, 9)).astype(bool)
    calls.append((truth_values, (bits[0], bits[1])))
    z = rng.standard_normal(9) + 1j * rng.standard_normal(9)
    calls.append((complex_numbers, (z, z[::-1].astype(np.complex64))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        compare_in_rounds(calls, monkeypatch)


def negative(x: Array, y: Array) -> Any:
    return x // y, x % y, x // -3, x % 3, (x - y) * x


def test_negative_numbers_are_divided_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.meshgrid(np.arange(-7, 8), np.array([-5, -2, -1, 1, 2, 5]))
    calls: list[Any] = [
        (negative, (x.astype(t), y.astype(t))) for t in ("int8", "int64", "float64")
    ]
    compare_in_rounds(calls, monkeypatch)


def python_numbers(x: Array, k: int, a: float) -> Any:
    f = x.astype(np.float32)
    return f * a, f + k, k / 3, k // -4, k % -4, a // 0.3, x * k, np.float64(a) * f


def test_numbers_of_python_take_the_type_of_their_neighbour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compare_in_rounds([(python_numbers, (np.arange(5, dtype=np.int16), 17, 1.7))], monkeypatch)
