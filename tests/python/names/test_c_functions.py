"""Functions of C's that NumPy lacks, in compiled functions and as plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from polygen.python.names.c_functions import erf, erfc, fdim, lgamma, tgamma
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
