"""Views of all kinds of arrays as arguments, attributes and values from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from tests.workunits.agreement import agree

RNG = np.random.default_rng(3)
N = 6


@pk.workunit
def doubled(i: int, x: Any, y: Any) -> None:
    y[i] = 2 * x[i]


_COMPLEX = RNG.random(N) + 1j * RNG.random(N)


@pytest.mark.parametrize(
    "array",
    [
        RNG.random(2 * N)[::-2],
        np.arange(N, dtype=np.int8),
        _COMPLEX.astype(np.complex64),
        RNG.random((N, 3)).astype(np.float32)[:, 1],
    ],
)
def test_arrays_of_all_kinds(array: Any) -> None:
    def run(space: Any) -> Any:
        y = np.zeros_like(array)
        pk.parallel_for(pk.RangePolicy(space, 0, N), doubled, x=pk.from_numpy(array), y=y)
        assert y.dtype == array.dtype
        return y

    agree(run, 2 * array)


@pk.workunit
def denied(i: int, x: pk.View1D[bool], y: pk.View1D[bool]) -> None:
    y[i] = not x[i] and i > 2


@pk.workunit
def added(i: int, x: Any, t: Any) -> None:
    x[i] = t[()] + i


def test_truth_values_and_views_of_no_subscripts() -> None:
    even = np.arange(N) % 2 == 0

    def denying(space: Any) -> Any:
        y = np.zeros(N, bool)
        pk.parallel_for(pk.RangePolicy(space, 0, N), denied, x=even, y=y)
        return y

    agree(denying, ~even & (np.arange(N) > 2))

    def resized(space: Any) -> Any:
        """Sum views that change their size between dispatches."""
        x, sums = pk.View([4]), []
        for k in (4, 7, 2, 0):
            x.resize(0, k)
            pk.parallel_for(pk.RangePolicy(space, 0, k), added, x=x, t=np.array(1.0))
            sums.append(float(np.sum(x)))
        return sums

    agree(resized, [10, 28, 3, 0])


class _Inner:
    def __init__(self) -> None:
        self.view = pk.from_numpy(np.arange(6.0))
        self.factors = [1.0, 2.0, 3.0]


@pk.functor
class Nested:
    """Views as attributes of attributes, a device function, a list of constants."""

    def __init__(self) -> None:
        self.inner = _Inner()
        self.result = pk.View([6])

    @pk.function
    def at(self, i: int, shift: int = 0) -> float:
        found: float = self.inner.view[(i + shift) % self.inner.view.extent(0)]
        return found

    @pk.workunit
    def fill(self, i: int) -> None:
        self.result[i] = self.at(i) * self.inner.factors[1] + self.at(i, shift=1)


def test_attributes_of_attributes() -> None:
    def run(space: Any) -> Any:
        made = Nested()
        pk.parallel_for(pk.RangePolicy(space, 0, 6), made.fill)
        return np.asarray(made.result)

    x = np.arange(6.0)
    agree(run, 2 * x + np.roll(x, -1))


def test_subviews() -> None:
    def run(space: Any) -> Any:
        a, y = pk.from_numpy(np.arange(24.0).reshape(4, 6)), pk.View([6])
        pk.parallel_for(pk.RangePolicy(space, 0, 6), doubled, x=a[1, :], y=y)
        part = pk.Subview(a, (slice(1, 3), 2))
        pk.parallel_for(pk.RangePolicy(space, 0, 2), doubled, x=part, y=y)
        return np.asarray(y)

    agree(run, [16, 28, 16, 18, 20, 22])


def test_functions_of_numpy_take_views() -> None:
    x = pk.from_numpy(np.arange(3.0))
    assert isinstance(pk.sqrt(x), pk.View)
    assert isinstance(np.where(x > 1, x, 0), pk.View)
    np.testing.assert_array_equal(pk.add(x, pk.ones(3)), [1, 2, 3])
    np.testing.assert_array_equal(pk.hstack([x, x]), [0, 1, 2, 0, 1, 2])
    assert float(pk.sum(x)) == 3
    assert pk.zeros((2, 2), dtype=pk.int32).dtype == np.int32
    assert isinstance(pk.linspace(0.0, 1.0, 5), pk.View)
    assert isinstance(pk.asarray([1, 2]), pk.View)
    assert float(pk.pi) == np.pi
    assert "sqrt" in dir(pk)
    with pytest.raises(AttributeError, match="has no attribute 'squirt'"):
        pk.squirt  # noqa: B018


def test_default_precision() -> None:
    pk.set_default_precision(pk.float32)
    try:
        assert pk.ones(3).dtype == np.float32
        assert pk.View([3]).dtype == np.float32
    finally:
        pk.set_default_precision(pk.double)
