"""Atomic updates of views: with old values, without, and by the trait."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen.workunits as pk
from tests.workunits.agreement import agree

N = 6


@pk.workunit
def updates(i: int, h: Any, old_values: Any, g: Any, k: Any) -> None:
    pk.atomic_add(h, [k[i]], 2)
    pk.atomic_increment(h, [3])
    pk.atomic_fetch_max(h, [4], i)
    pk.atomic_add(g, [k[i], 1], 0.5)
    pk.atomic_fetch_sub(g, [0, 0], 1.0)
    old = pk.atomic_fetch_add(h, [5], 1)
    old_values[old] = 1


@pk.workunit
def others(i: int, h: Any, d: Any) -> None:
    pk.atomic_fetch_div(h, [0], 2)
    pk.atomic_fetch_lshift(h, [1], 1)
    pk.atomic_fetch_rshift(h, [2], 1)
    pk.atomic_fetch_mod(h, [3], 7)
    pk.atomic_fetch_xor(h, [4], 1)
    pk.atomic_compare_exchange(h, [5], 0, 1)
    pk.atomic_exchange(h, [6], 3)
    pk.atomic_fetch_min(h, [7], -i)
    pk.atomic_fetch_and(h, [8], 6)
    pk.atomic_fetch_or(h, [9], 1)
    pk.atomic_fetch_div(d, [0], 2.0)
    pk.atomic_fetch_mul(d, [1], 2.0)


def test_updates() -> None:
    k = np.array([0, 1, 1, 2, 2, 2], np.int32)

    def run(space: Any) -> Any:
        h, old_values, g = np.zeros(6, int), np.zeros(N, int), np.zeros((3, 2))
        pk.parallel_for(pk.RangePolicy(space, 0, N), updates, h=h, old_values=old_values, g=g, k=k)
        return np.concatenate([h, old_values, g.ravel()])

    agree(run, [2, 4, 6, 6, 5, 6, *[1] * N, -6, 0.5, 0, 1, 0, 1.5])


def test_all_operations() -> None:
    def run(space: Any) -> Any:
        h, d = np.array([1000, 1, 1000, 100, 6, 0, 9, 0, 15, 8]), np.array([64.0, 1.0])
        pk.parallel_for(pk.RangePolicy(space, 0, N), others, h=h, d=d)
        return np.concatenate([h, d])

    agree(run, [15, 64, 15, 2, 6, 1, 3, -5, 6, 9, 1, 64])


@pk.workunit
def by_trait(i: int, h: Any) -> None:
    h[0] += i


def test_trait() -> None:
    def run(space: Any) -> Any:
        h = pk.View([1], pk.int64, trait=pk.Atomic)
        pk.parallel_for(pk.RangePolicy(space, 0, N), by_trait, h=h)
        return h[0]

    agree(run, 15)


def test_plain() -> None:
    view = pk.View([2, 2], pk.int64)
    assert int(pk.atomic_fetch_add(view, [1, 0], 5)) == 0
    assert int(pk.atomic_exchange(view, [1, 0], 7)) == 5
    assert np.asarray(view).tolist() == [[0, 0], [7, 0]]
