"""Updates that return old values: in plain Python, and in compiled functions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NotCompiled
from tests.jit.random_functions.check import in_python

UPDATES: list[tuple[Callable[..., Any], Callable[[int, int], int]]] = [
    (pg.atomic_fetch_add, lambda a, b: a + b),
    (pg.atomic_fetch_sub, lambda a, b: a - b),
    (pg.atomic_fetch_mul, lambda a, b: a * b),
    (pg.atomic_fetch_min, min),
    (pg.atomic_fetch_max, max),
    (pg.atomic_fetch_and, lambda a, b: a & b),
    (pg.atomic_fetch_or, lambda a, b: a | b),
    (pg.atomic_fetch_xor, lambda a, b: a ^ b),
    (pg.atomic_exchange, lambda _, b: b),
]


@pytest.mark.parametrize(("update", "meaning"), UPDATES)
def test_in_plain_python(update: Callable[..., Any], meaning: Callable[[int, int], int]) -> None:
    x = np.array([[6, 1], [12, 5]])
    assert (update(x, (1, 0), 10), x[1, 0]) == (12, meaning(12, 10))
    assert (update(x[0], 0, 3), x[0, 0]) == (6, meaning(6, 3))
    with pytest.raises(InvalidArgument, match="2 elements would be updated at once"):
        update(x, 0, 1)
    assert x[0, 1] == 1


def test_compare_exchange_in_plain_python() -> None:
    x = np.array([1, 2], np.int8)
    assert (pg.atomic_compare_exchange(x, 0, 1, 5), x[0]) == (1, 5)
    assert (pg.atomic_compare_exchange(x, 0, 1, 7), x[0]) == (5, 5)
    with pytest.raises(InvalidArgument):
        pg.atomic_compare_exchange(x, slice(0, 2), 1, 7)


def fill(x: Any, out: Any, count: Any, n: int) -> None:
    for i in pg.prange(n):
        if x[i] > 0.5:
            k = pg.atomic_fetch_add(count, 0, 1)
            out[k] = i


def ranks(bins: Any, h: Any, rank: Any, n: int) -> None:
    for i in pg.prange(n):
        rank[i] = pg.atomic_fetch_add(h, bins[i], 1)


def largest(x: Any, top: Any, beaten: Any, n: int) -> None:
    for i in pg.prange(n):
        old = pg.atomic_fetch_max(top, 0, x[i])
        beaten[i] = old < x[i]


def locks(owner: Any, won: Any, n: int) -> None:
    for i in pg.prange(n):
        was = pg.atomic_compare_exchange(owner, i % 3, -1, i)
        won[i] = was == -1


def steps(seen: Any, count: Any, n: int) -> None:
    for t in range(4):
        for i in pg.prange(n):
            if i % 2 == 0:
                seen[t, i] = pg.atomic_fetch_add(count, 0, 1)


def serial(bins: Any, h: Any, old: Any, f: Any, n: int) -> None:
    for i in range(n):
        old[i] = pg.atomic_fetch_add(h, bins[i], 1)
        pg.atomic_fetch_xor(h, 0, i)
        pg.atomic_fetch_and(h, 5, i + 9)
        pg.atomic_fetch_or(h, -2, i)
        was = pg.atomic_exchange(h, (1,), i)
        pg.atomic_fetch_sub(h, 2, was)
        low = pg.atomic_fetch_min(f, 0, i - 0.5)
        pg.atomic_fetch_mul(f, 1, low)
        pg.atomic_compare_exchange(h, 3, old[i], i)


RNG = np.random.default_rng(24)
N = 3000
X, BINS = RNG.random(N), RNG.integers(0, 7, N)
ARGUMENTS: dict[Callable[..., Any], tuple[Any, ...]] = {
    fill: (X, np.full(N, -1), np.zeros(1, int), N),
    ranks: (BINS, np.zeros(7, np.int32), np.zeros(N, np.int32), N),
    largest: (X, np.zeros(1), np.zeros(N, bool), N),
    locks: (np.full(3, -1), np.zeros(N, bool), N),
    steps: (np.full((4, N), -1), np.zeros(1, int), N),
    serial: (BINS, np.zeros(7, int), np.zeros(N, int), np.array([3.0, 1e-3]), N),
}


def run(function: Callable[..., Any], target: str) -> tuple[Any, ...]:
    compiled, given = pg.jit(function, target=target), copy.deepcopy(ARGUMENTS[function])
    compiled(*given)
    assert in_python(compiled) == [], compiled.explain()
    return given


def check_lists(target: str) -> None:
    """Whatever the order is, the same numbers are given out, each once."""
    _, out, count, _ = run(fill, target)
    wanted = np.flatnonzero(X > 0.5)
    assert count[0] == len(wanted)
    np.testing.assert_array_equal(np.sort(out[: len(wanted)]), wanted)
    assert set(out[len(wanted) :]) == {-1}


def check_ranks(target: str) -> None:
    _, h, rank, _ = run(ranks, target)
    np.testing.assert_array_equal(h, np.bincount(BINS, minlength=7))
    for one in range(7):
        assert sorted(rank[one == BINS]) == list(range(h[one]))


def check_the_others(target: str) -> None:
    _, top, beaten, _ = run(largest, target)
    assert top[0] == X.max()
    assert beaten[X.argmax()]
    owner, won, _ = run(locks, target)
    assert sorted(np.flatnonzero(won)) == sorted(owner)
    assert sorted(owner % 3) == [0, 1, 2]
    seen, _, _ = run(steps, target)
    wanted = np.arange(4 * (N // 2)).reshape(4, -1)  # the steps come one after the other
    np.testing.assert_array_equal(np.sort(seen[:, ::2]), wanted)


def test_in_parallel_loops_in_c() -> None:
    check_lists("c")
    check_ranks("c")
    check_the_others("c")


def test_in_parallel_loops_in_opencl() -> None:
    check_lists("opencl")
    check_ranks("opencl")


def test_in_other_loops_they_are_in_order() -> None:
    wanted = copy.deepcopy(ARGUMENTS[serial])
    serial(*wanted)
    for one, other in zip(run(serial, "c"), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert "#pragma omp" not in source(serial, "c")


def source(function: Callable[..., Any], target: str) -> str:
    (kernel,) = pg.jit(function, target=target).kernels(*copy.deepcopy(ARGUMENTS[function]))
    return str(pg.generate_code(kernel))


@pytest.mark.parametrize(
    ("function", "what"),
    [(fill, "atomicAdd("), (ranks, "atomicAdd("), (largest, "atomicCAS("), (locks, "atomicCAS(")],
)
def test_in_cuda(function: Callable[..., Any], what: str) -> None:
    text = source(function, "cuda")
    assert what in text
    assert "threadIdx.x" in text


def several(x: Any, n: int) -> None:
    for _ in range(n):
        pg.atomic_fetch_add(x, x, 1)


def rounded(x: Any, n: int) -> None:
    for i in range(n):
        pg.atomic_fetch_add(x, i, 0.5)


def within(x: Any, y: Any, n: int) -> None:
    for i in range(n):
        y[i] = x[0] + pg.atomic_fetch_add(x, 0, 1)


@pytest.mark.parametrize(
    ("function", "count", "said"),
    [
        (several, 1, "an atomic update of several elements at once"),
        (rounded, 1, "float64 is not stored as int64"),
        (within, 2, "a function that changes an array is called in an expression"),
    ],
)
def test_refused(function: Callable[..., Any], count: int, said: str) -> None:
    given: Sequence[Any] = [np.arange(3) for _ in range(count)]
    with pytest.raises(NotCompiled, match=said):
        pg.jit(function, strict=True, target="c")(*given, 3)
