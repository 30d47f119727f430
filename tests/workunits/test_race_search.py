"""Races that data decides: what two iterations of a dispatch do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import PolicyMismatch


@pk.workunit
def scatter(i: int, k: pk.View1D[pk.int64], x: pk.View1D[pk.double]) -> None:
    x[k[i]] = i


@pk.workunit
def gather(i: int, k: pk.View1D[pk.int64], x: pk.View1D[pk.double]) -> None:
    x[i] = x[k[i]]


@pk.workunit
def update(i: int, k: pk.View1D[pk.int64], x: pk.View1D[pk.double]) -> None:
    x[k[i]] += 2.0 * i


@pk.workunit
def update_and_read(i: int, k: pk.View1D[pk.int64], x: pk.View1D[pk.double], y: Any) -> None:
    x[k[i]] += 1.0
    y[i] = x[0]


@pk.workunit
def rows(i: int, j: int, k: pk.View1D[pk.int64], a: pk.View2D[pk.double]) -> None:
    a[k[i]][j] = i


@pk.workunit
def whole_rows(i: int, acc: pk.Acc[pk.double], a: pk.View2D[pk.double], k: Any) -> None:
    a[i, 0] = 1.0
    acc += a[k[i]].sum()


@pk.functor
class Linked:
    def __init__(self, next_one: Any) -> None:
        self.next_one, self.x = pk.from_numpy(next_one), pk.View([len(next_one)], pk.double)

    @pk.workunit
    def follow(self, i: int) -> None:
        self.x[self.next_one[i]] = self.x[i]


PERMUTED, TWICE = np.array([2, 0, 3, 1]), np.array([2, 0, 1, 2])


@pytest.mark.parametrize(
    ("unit", "policy", "arguments", "expected"),
    [
        (scatter, 4, {"k": PERMUTED, "x": np.zeros(4)}, None),
        (
            scatter, pk.RangePolicy(1, 4), {"k": np.array([0, 1, 1, 2]), "x": np.zeros(4)},
            "iteration i=1 writes x[1], which iteration i=2 writes, too",
        ),
        (gather, 4, {"k": np.arange(4), "x": np.zeros(4)}, None),
        (
            gather, 4, {"k": np.array([0, 1, 3, 3]), "x": np.zeros(4)},
            "iteration i=3 writes x[3], which iteration i=2 reads",
        ),
        (update, 4, {"k": TWICE, "x": np.zeros(4)}, None),
        (
            update_and_read, 4, {"k": TWICE, "x": np.zeros(4), "y": np.zeros(4)},
            "iteration i=1 writes x[0], which iteration i=0 reads",
        ),
        (rows, pk.MDRangePolicy([0, 0], [4, 3]), {"k": PERMUTED, "a": np.zeros((4, 3))}, None),
        (
            rows, pk.MDRangePolicy([0, 0], [4, 3]), {"k": TWICE, "a": np.zeros((4, 3))},
            "iteration i=0, j=0 writes a[2, 0], which iteration i=3, j=0 writes, too",
        ),
        (whole_rows, 3, {"a": np.zeros((3, 2)), "k": np.arange(3)}, None),
        (
            whole_rows, 3, {"a": np.zeros((3, 2)), "k": np.array([0, 2, 2])},
            "iteration i=2 writes a[2, 0], which iteration i=1 reads",
        ),
        (
            Linked(PERMUTED).follow, 4, {},
            "iteration i=1 writes self.x[0], which iteration i=0 reads",
        ),
        (Linked(np.arange(4)).follow, 4, {}, None),
    ],
)  # fmt: skip
def test_what_is_found(unit: Any, policy: Any, arguments: Any, expected: str | None) -> None:
    before = {name: value.copy() for name, value in arguments.items()}
    found = pk.find_race(policy, unit, **arguments)
    assert (found if found is None else str(found)) == expected
    for name, value in before.items():
        np.testing.assert_array_equal(arguments[name], value)


def test_views_from_outside() -> None:
    x = pk.View([3], pk.double)

    @pk.workunit
    def to_the_first(i: int, k: Any) -> None:
        x[k[i]] = i

    assert str(pk.find_race(3, to_the_first, k=np.array([1, 0, 1]))) == (
        "iteration i=0 writes x[1], which iteration i=2 writes, too"
    )
    assert not np.asarray(x).any()


def test_what_is_refused() -> None:
    with pytest.raises(PolicyMismatch, match="a policy of teams"):
        pk.find_race(pk.TeamPolicy(2, 2), scatter, k=PERMUTED, x=np.zeros(4))
    with pytest.raises(PolicyMismatch, match="nothing for 'x'"):
        pk.find_race(4, scatter, k=PERMUTED)
