"""polygen.python.statements: loops, branches and names, beside CPython."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.python.compared import compare_in_rounds

Array = np.ndarray[Any, Any]


def triangular(x: Array, n: int) -> Array:
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n, 2):
            x[i, j] = x[j, i] + 10 * i + j
    return x


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def collatz(n: int) -> int:
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def first_above(x: Array, limit: float) -> int:
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def place_above(x: Array, limit: float) -> tuple[int, int]:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > limit:
                return i, j
    return -1, -1


def skipping(x: Array) -> float:
    total = 0.0
    for value in x:
        if value < 0:
            continue
        if value > 100:
            break
        total += value
    return total


def last_of_a_branch(x: Array) -> Any:
    found = -1
    for i in range(len(x)):
        if x[i] > 0.5:
            found = i
    last = x[i]
    return found, last, i


def shifted(x: Array) -> Array:
    x[1:] = x[:-1] + 1
    x[::-1] = 2 * x
    x[:-2] += x[2:]
    return x


def phases(x: Array, steps: int) -> Array:
    for _ in range(steps):
        x = (x + x[::-1]) / 2
    return x


def chained(x: Array, y: Array) -> Any:
    x[0] = y[1:3] = 7
    (a, b), c = (x[1], y[0]), 5
    y[0] += c
    return a, b, c


def masked(x: Array) -> Any:
    x[x < 0] = 0
    small = x < 2
    x[small] = x[small] * 10 + 1
    return x[x > 5].sum(), x[small].mean()


def counted(x: Array, bins: Array) -> Array:
    for i in range(len(x)):
        bins[x[i]] += 1
    return bins


def both_ways(x: Array) -> Array:
    if x.sum() > 0:  # noqa: SIM108  (what is compiled)
        y = x * 2
    else:
        y = x - 1
    return y


def random(*shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape)


CALLS: list[Any] = [
    *[(triangular, (random(n, n), n)) for n in (1, 2, 5)],
    (fibonacci, (90,)),
    (collatz, (27,)),
    (first_above, (random(30), 1.0)),
    (first_above, (random(30), 9.0)),
    (place_above, (random(4, 5), 1.0)),
    (place_above, (random(4, 5), 9.0)),
    (skipping, (np.array([1.0, -2, 3, 200, 5]),)),
    (last_of_a_branch, (random(9),)),
    (shifted, (random(8),)),
    (shifted, (random(3),)),
    (phases, (random(5), 3)),
    (chained, (random(4), random(4) + 1)),
    (masked, (3 * random(20),)),
    (counted, (np.array([0, 3, -1, 3, 2, 0]), np.zeros(5, np.int32))),
    (both_ways, (np.abs(random(4)),)),
    (both_ways, (-np.abs(random(4)),)),
]


def test_statements_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_in_rounds(CALLS, monkeypatch)
