"""Functions of C's that NumPy lacks, in compiled functions and as plain Python."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.python.names.c_functions import erf, erfc, fdim, fma, lgamma, tgamma
from tests.python.compared import compare_kernels


def all_of(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        y[i, 0] = erf(x[i])
        y[i, 1] = erfc(x[i])
        y[i, 2] = tgamma(x[i])
        y[i, 3] = lgamma(x[i])
        y[i, 4] = fdim(x[i], 1.0)
        y[i, 5] = tgamma(5) + math.erf(0.5)


def of_whole(x: Any, y: Any) -> None:
    y[:, 0] = erf(x) + fdim(x, x[0])


def test_in_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants, too: math.erf(0.5) was the exponential of 0.5."""
    values = [-2.5, -0.5, 0.1, 1.0, 3.7]
    of_single = np.array(values, np.float32)
    calls = [
        (all_of, (np.array(values), np.zeros((5, 6)))),
        (of_whole, (of_single, np.zeros((5, 1), np.float32))),
    ]
    compare_kernels(calls, monkeypatch)


def test_plain() -> None:
    assert float(erf(0.5)) == math.erf(0.5)
    assert erf(np.float32(0.5)).dtype == np.float32
    assert erf(np.arange(3)).dtype == np.float64
    assert float(erfc(0.5)) == math.erfc(0.5)
    assert [float(tgamma(x)) for x in (5.0, 0.0, -0.0, 171.7)] == [24, np.inf, -np.inf, np.inf]
    assert np.isnan([float(tgamma(x)) for x in (-1.0, -np.inf)]).all()
    assert [float(lgamma(x)) for x in (1.0, -3.0, -np.inf, 1e308)] == [0, np.inf, np.inf, np.inf]
    assert np.isnan(float(fdim(np.nan, 1.0)))
    assert list(fdim(np.array([5.0, 3.0]), 4.0)) == [1, 0]


def fused(x: Any, y: Any, z: Any) -> None:
    for i in range(x.shape[0]):
        z[i, 0] = fma(x[i], y[i], -1.0)
        z[i, 1] = fma(2.0, x[i], y[0]) + fma(0.1, 10.0, -1.0)


def fused_whole(x: Any, y: Any, z: Any) -> None:
    z[:, 0] = fma(x, y, x[0])


def _hard(kind: type[Any]) -> tuple[Any, Any, Any]:
    """Return numbers whose products nearly cancel what is added, and special ones."""
    rng = np.random.default_rng(8)
    x, y = (rng.normal(size=500).astype(kind) for _ in range(2))
    z = np.where(rng.random(500) < 0.5, -x * y, rng.normal(size=500).astype(kind)).astype(kind)
    ends = np.finfo(kind)
    for at, special in enumerate((np.inf, -np.inf, np.nan, 0.0, -0.0, ends.max, ends.tiny)):
        x[at::37], y[3 * at :: 41], z[5 * at :: 43] = special, special, special
    x[:100] *= ends.tiny
    return x, y, z


@pytest.mark.parametrize(("kind", "name"), [(np.float64, "fma"), (np.float32, "fmaf")])
def test_a_sum_that_is_rounded_once_is_that_of_the_library_of_c(
    kind: type[Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    own.restype = ctypes.c_double if kind is np.float64 else ctypes.c_float
    own.argtypes = [own.restype] * 3
    x, y, z = _hard(kind)
    expected = np.array([own(*one) for one in zip(x, y, z, strict=True)], kind)
    found = fma(x, y, z)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(expected)[found == 0])
    some, others = x[100:140], y[100:140]
    calls = [
        (fused, (some, others, np.zeros((40, 2), kind))),
        (fused_whole, (some, others, np.zeros((40, 1), kind))),
    ]
    compare_kernels(calls, monkeypatch)


def remainders(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        y[i, 0] = math.fmod(x[i], 1.75)
        y[i, 1] = math.fmod(7.5, -2) + math.fmod(i, 2)


def test_remainders_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([-7.25, -1.75, -0.0, 0.5, 1e17, np.nan])
    compare_kernels([(remainders, (values, np.zeros((6, 2))))], monkeypatch)


@pg.jit
def remainder_by(x: Any, by: Any) -> None:
    for i in range(x.shape[0]):
        x[i] = math.fmod(x[i], by[i])


@pytest.mark.parametrize(
    ("x", "by"), [(1.0, 0.0), (np.inf, 2.0), (np.nan, 0.0), (np.inf, np.nan), (5.0, np.inf)]
)
def test_remainders_raise_where_those_of_python_do(x: float, by: float) -> None:
    data = np.array([4.0, x])
    try:
        expected = math.fmod(x, by)
    except ValueError:
        with pytest.raises(ValueError, match="math domain error"):
            remainder_by(data, np.array([3.0, by]))
        return
    remainder_by(data, np.array([3.0, by]))
    np.testing.assert_array_equal(data, [1.0, expected])
