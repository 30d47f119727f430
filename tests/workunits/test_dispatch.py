"""Dispatches over ranges and boxes: values, reductions, scans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import (
    NoWorkUnit,
    PolicyMismatch,
    RaceFound,
    SubscriptOutOfBounds,
    ViewMismatch,
    WorkUnitRefused,
)
from tests.workunits.agreement import SPACES, agree

RNG = np.random.default_rng(1)
N = 6
X = RNG.random(N)


def ranged(space: Any, n: int = N) -> pk.RangePolicy:
    return pk.RangePolicy(space, 0, n)


def filled(space: Any, unit: Any, y: Any, **arguments: Any) -> Any:
    """Return the array `y` that a work unit fills."""
    y = y.copy(order="K")
    pk.parallel_for(ranged(space), unit, y=y, **arguments)
    return y


@pk.workunit
def product(
    i: int,
    acc: pk.Acc[pk.double],
    y: pk.View1D[pk.double],
    A: pk.View2D[pk.double],
    x: pk.View1D[pk.double],
) -> None:
    t: float = 0
    for j in range(A.extent(1)):
        t += A[i][j] * x[j]
    acc += y[i] * t


def test_reduction() -> None:
    a, x = RNG.random((N, 5)), RNG.random(5)
    agree(lambda s: pk.parallel_reduce("product", ranged(s), product, y=X, A=a, x=x), X @ (a @ x))


@pk.workunit
def in_branches(i: int, acc: pk.Acc[pk.double], x: Any) -> None:
    if x[i] > 2:
        acc += x[i]
    else:
        acc += 1
    acc += 0.5


@pk.workunit
def read_between(i: int, acc: pk.Acc[pk.double], x: Any) -> None:
    acc += 1
    x[i] = acc
    acc += 1


def test_several_updates_of_one_accumulator() -> None:
    """A sum, whichever comes first; not if something reads it between."""
    x = np.arange(6.0)
    agree(lambda s: pk.parallel_reduce(ranged(s), in_branches, x=x), 3 + 4 + 5 + 3 + 3)
    with pytest.raises(RaceFound, match="writes 'acc' that iteration i=1 reads"):
        pk.parallel_reduce(ranged(pk.Serial), read_between, x=x)


@pk.workunit
def largest(i: int, acc: pk.Acc[pk.double], x: Any) -> None:
    acc = max(acc, x[i])


@pk.workunit
def two(i: int, a: pk.Acc[pk.double], b: pk.Acc[pk.int64], x: Any) -> None:
    a *= x[i]
    if x[i] > 2:
        b += 1


@pk.workunit
def place(i: int, m: pk.Acc[pk.double], at: pk.Acc[pk.int64], x: Any) -> None:
    if x[i] > m:
        m = x[i]
        at = i  # noqa: F841  (returned)


def test_accumulators() -> None:
    """Of several operations, with numbers that they begin with, and two at once."""
    values = np.array([3, 1, 7, 2, 7, 0.5])
    agree(lambda s: pk.parallel_reduce(ranged(s), largest, x=values, initial=-1e9), 7)
    agree(lambda s: pk.parallel_reduce(ranged(s, 0), largest, x=values, initial=-9.5), -9.5)
    agree(
        lambda s: pk.parallel_reduce(ranged(s), two, x=values, initial=(1.0, 10)),
        (values.prod(), 13),
    )
    agree(lambda s: pk.parallel_reduce(ranged(s), place, x=values, initial=(-1e300, -1)), (7, 2))


@pk.workunit
def inclusive(i: int, acc: pk.Acc[pk.int64], last: bool, x: Any, y: Any) -> None:
    acc += x[i]
    if last:
        y[i] = acc


@pk.workunit
def exclusive(i: int, acc: pk.Acc[pk.int64], last: bool, x: Any, y: Any) -> None:
    if last:
        y[i] = acc
    acc += x[i]


def test_scans() -> None:
    x = np.array([5, 1, 4, 1, 5, 9])
    sums = x.cumsum()
    for unit, expected in ((inclusive, sums), (exclusive, sums - x)):

        def run(space: Any, unit: Any = unit) -> Any:
            y = np.zeros(N, int)
            total = pk.parallel_scan(ranged(space), unit, x=x, y=y)
            return np.append(y, total)

        agree(run, np.append(expected, sums[-1]))


@pk.workunit
def transposed(i: int, j: int, x: pk.View2D[pk.double], y: pk.View2D[pk.double]) -> None:
    y[i][j] = x[j, i] + (i if i < j else x[i][j])


@pytest.mark.parametrize("order", ["C", "F"])
def test_boxes(order: Any) -> None:
    x = np.array(RNG.random((N, N)), order=order)
    i, j = np.indices((N, N))
    whole = x.T + np.where(i < j, i, x)
    inside = np.zeros((N, N))
    inside[1:5, 2:4] = whole[1:5, 2:4]

    def run(space: Any, begin: Any, end: Any) -> Any:
        y = np.zeros((N, N), order=order)
        policy = pk.MDRangePolicy(begin, end, [2, 2], space=space)
        pk.parallel_for(policy, transposed, x=x, y=y)
        return y

    agree(lambda s: run(s, [0, 0], [N, N]), whole)
    agree(lambda s: run(s, [1, 2], [5, 4]), inside)


@pk.workunit
def summed(i: int, acc: pk.Acc[pk.double], x: Any) -> None:
    acc += x[i]


@pytest.mark.parametrize("ends", [(0, 0), (3, 3), (5, 2), (0, 1), (-3, 0), (2, 5)])
def test_ranges_of_any_length(ends: tuple[int, int]) -> None:
    """Negative indices count from the end, as NumPy's do."""
    indices = list(range(*ends))
    agree(
        lambda s: pk.parallel_reduce(pk.RangePolicy(s, *ends), summed, x=X),
        X[indices].sum() if indices else 0,
    )


@pk.workunit
def leaving(i: int, x: Any, y: Any) -> None:
    if x[i] < 2:
        return
    for j in range(i):
        if j == 3:
            return
        y[i] += 1
    y[i] += 10


@pk.workunit
def halving(i: int, y: Any) -> None:
    k = i
    while k > 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        y[i] += 1


@pk.workunit
def choices(i: int, x: Any, k: Any, c: Any, y: Any) -> None:
    y[i] = x[i] if 0.2 < x[i] <= 0.9 else i
    y[i] += (k[i] if i > 1 else x[i]) * c[1] + c[0]


@pk.workunit
def sliced(i: int, A: Any, y: Any) -> None:
    y[i, 1:3] = A[i, 0:2] * 2
    y[i, 0] = A[i, -1] + np.sum(A[i, 1:])


def test_statements() -> None:
    """Returns, loops that conditions end, choices of two types, chains, slices."""
    index = np.arange(N)
    agree(lambda s: filled(s, leaving, np.zeros(N), x=index), [0, 0, 12, 13, 3, 3])
    agree(lambda s: filled(s, halving, np.zeros(N)), [0, 0, 1, 7, 2, 5])
    k = index.astype(np.int32)
    expected = np.where((X > 0.2) & (X <= 0.9), X, index) + np.where(index > 1, k, X) * 2.0 + 1.5
    agree(lambda s: filled(s, choices, np.zeros(N), x=X, k=k, c=[1.5, 2]), expected)
    a = RNG.random((N, 4))
    rows = np.column_stack([a[:, -1] + a[:, 1:].sum(1), 2 * a[:, :2]])
    agree(lambda s: filled(s, sliced, np.zeros((N, 3)), A=a), rows)


# --- refused, with the line


@pk.workunit
def shifted(i: int, x: pk.View1D[pk.double]) -> None:
    x[i] = x[i + 1]


@pk.workunit
def copied(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]) -> None:
    y[i] = x[i + 1]


@pk.workunit
def transposing(i: int, j: int, x: Any, y: Any) -> None:
    y[i, j] = x[j, i]


@pk.workunit
def asks_itself(i: int, x: Any) -> None:
    x[i] = asks(x, i)


def asks(x: Any, i: int) -> Any:
    return asks(x, i - 1)


def test_races() -> None:
    with pytest.raises(RaceFound) as caught:
        pk.parallel_for(ranged(pk.Serial), shifted, x=np.zeros(N + 1))
    said = str(caught.value)
    assert "the policy's end=2, iteration i=0 reads the element of 'x' that iteration i=1" in said
    assert "pk_" not in said
    assert "| x[i] = x[i + 1]" in said
    x = np.arange(N + 1.0)
    pk.parallel_for(ranged(pk.Serial), shifted, x=x, unsafe=True)
    np.testing.assert_array_equal(x, [1, 2, 3, 4, 5, 6, 6])


@pytest.mark.parametrize("space", SPACES)
def test_out_of_bounds(space: Any) -> None:
    """With the iteration, also where it is one of many."""
    large = np.zeros(1000)
    with pytest.raises(SubscriptOutOfBounds) as caught:
        pk.parallel_for(ranged(space, 1000), copied, x=large, y=large.copy())
    assert "index 1000 is out of bounds for axis 0 with size 1000, in the iteration i=999" in str(
        caught.value
    )
    assert "| y[i] = x[i + 1]" in str(caught.value)
    box = np.zeros((3, 4))
    with pytest.raises(IndexError, match="in the iteration i=0, j=3 of 'transposing'"):
        pk.parallel_for(pk.MDRangePolicy(space, [0, 0], [3, 4]), transposing, x=box, y=box.copy())
    with pytest.raises(SubscriptOutOfBounds, match="size 6, in the iteration i=6 of 'shifted'"):
        pk.parallel_for(pk.RangePolicy(space, 6, 9), shifted, x=X.copy())


@pytest.mark.parametrize("space", SPACES)
def test_what_does_not_fit(space: Any) -> None:
    with pytest.raises(PolicyMismatch, match="'shifted' is given nothing for 'x' and 'z'"):
        pk.parallel_for(ranged(space), shifted, z=1)
    with pytest.raises(ViewMismatch, match="'x' is declared as View1D, and has 2 subscripts"):
        pk.parallel_for(ranged(space), shifted, x=np.zeros((2, 2)))
    with pytest.raises(PolicyMismatch, match="the policy passes 2 indices to 'shifted'"):
        pk.parallel_for(pk.MDRangePolicy(space, [0, 0], [2, 2]), shifted, x=X)
    with pytest.raises(NoWorkUnit, match="'asks' is dispatched, and is no work unit"):
        pk.parallel_for(ranged(space), asks, x=X)


def test_what_kernels_do_not_have() -> None:
    with pytest.raises(WorkUnitRefused, match="'asks' calls itself, in the work unit") as caught:
        pk.parallel_for(ranged(pk.Serial), asks_itself, x=X.copy())
    assert "return asks(x, i - 1)" in str(caught.value)
