"""Integers of Python's, which have no end: right, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.jit.agreement import Outcome
from tests.jit.together import outcomes
from tests.python.compared import compare_kernels


def factorial(n: int) -> int:
    found = 1
    for i in range(2, n + 1):
        found *= i
    return found


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def powers(n: int) -> int:
    total = 0
    for i in range(n):
        total += 2**i + (1 << i)
    return total


def hashed(n: int) -> int:
    h = 5381
    for i in range(n):
        h = (h * 33 + i) & 0xFFFFFFFF
    for _ in range(n):
        h = (6364136223846793005 * h + 1442695040888963407) % 2**48
    return h


def bits(n: int) -> int:
    total = 0
    for i in range(n):
        for k in range(70):
            total += (i * 37 >> k) & 1
    return total


def truncated(x: float) -> int:
    total = 0
    for i in range(2):
        total += int(x) + round(x) + i
    return total


def shifted(n: int) -> int:
    total = 0
    for i in range(3):
        total += 1 << (n - i)
    return total


RIGHT: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (factorial, (20,)),
    (fibonacci, (90,)),
    (powers, (61,)),
    (hashed, (40,)),
    (bits, (9,)),
    (truncated, (-1e15,)),
]


def test_up_to_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_kernels(RIGHT, monkeypatch)


def raised(
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]], patch: pytest.MonkeyPatch
) -> list[str]:
    """Return what calls raise."""
    found = outcomes([(pg.jit(f, target="c"), given) for f, given in calls], patch)
    assert not any(isinstance(one, Outcome) for one in found)
    return [f"{type(one).__name__}: {one}" for one in found]


def test_beyond_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's results need more, so that there is an error."""
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (factorial, (21,)),
        (fibonacci, (93,)),
        (powers, (64,)),
        (truncated, (1e19,)),
        (truncated, (float("nan"),)),
    ]
    assert factorial(21) >= 2**63 and fibonacci(93) >= 2**63
    for text in raised(calls, monkeypatch):
        assert text.startswith("OverflowError: an integer of Python's needs more than 64 bits")


def test_negative_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = raised([(shifted, (1,))], monkeypatch)
    assert "ValueError: negative shift count" in text
    with pytest.raises(ValueError, match="negative shift count"):
        shifted(1)


def added(a: Any, k: int) -> Any:
    return a + k


def stored(a: Any, k: int) -> None:
    for i in range(len(a)):
        a[i] = k


def compared(a: Any, k: int) -> Any:
    count = 0
    for i in range(len(a)):
        if a[i] == k + i:
            count += 1
    return a < k, a == k, a > -1, a < 300, count


SMALL = np.array([1, 2, 255], np.uint8)


def test_beside_small_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons are of the numbers, whatever the type of an array holds."""
    calls: list[Any] = [(added, (SMALL, 7)), (stored, (SMALL, 255)), (compared, (SMALL, 511))]
    compare_kernels(calls, monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        compare_kernels([(compared, (SMALL, -3))], patch)
    wrong: list[Any] = [(added, (SMALL, 256)), (stored, (SMALL, -1))]
    for function, given in wrong:
        with pytest.raises(OverflowError):
            function(SMALL.copy(), given[1])
    for text in raised(wrong, monkeypatch):
        assert text.startswith("OverflowError: a Python integer is out of bounds")
