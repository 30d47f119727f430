"""Choices between scalars of two types, in compiled functions beside plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotCompiled
from tests.python.compared import Call, compare_kernels


def assigned(x: Any, k: Any, z: Any) -> None:
    for i in range(x.shape[0]):
        z[i, 0] = x[i] if x[i] > 2 else i
        z[i, 1] = (x[i] if i > 1 else i) * 2 + 1
        z[i, 2] += k[i] if i > 3 else x[i]
        z[i, 3] = math.sqrt(abs(k[i] if i > 1 else x[i]))
        z[i, 4] = -(x[i] if i > 1 else (k[i] if i == 0 else i)) / 2


def added(x: Any, z: Any) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] if i % 2 == 0 else i
        if (x[i] if i > 2 else i) > 1:
            z[i] = 1.0 + (i if x[i] > 3 else x[i])
    return total


def of_integers(k: Any, z: Any) -> None:
    for i in range(k.shape[0]):
        z[i] = (k[i] if i > 2 else i) // 2  # as int8 wraps, where it is one
        z[i] += (k[i] if i > 2 else i) * 100


def helper(x: Any, i: Any) -> Any:
    return x[i] if x[i] > 2 else i


def returned(x: Any, z: Any) -> None:
    for i in range(x.shape[0]):
        z[i] = helper(x, i) + 1


def test_against_python(monkeypatch: pytest.MonkeyPatch) -> None:
    x, k = np.linspace(0.0, 5.0, 6), np.arange(6, dtype=np.int32)
    single = x.astype(np.float32)
    small = np.arange(6, dtype=np.int64)
    calls: list[Call] = [
        (assigned, (x, k, np.zeros((6, 5)))),
        (added, (x, np.zeros(6))),
        (of_integers, (small, np.zeros(6, np.int64))),
        (returned, (single, np.zeros(6, np.float32))),
    ]
    compare_kernels(calls, monkeypatch)


def named(x: Any, z: Any) -> None:
    for i in range(x.shape[0]):
        t = x[i] if x[i] > 2 else i
        z[i] = t


def of_complex(x: Any, z: Any) -> None:
    for i in range(z.shape[0]):
        z[i] = x[i] if i > 2 else i


def test_names_have_one_type() -> None:
    """An error of its name: a variable of the kernel has one type."""
    with pytest.raises(NotCompiled, match="an integer of Python's in one case, and none in the"):
        pg.jit(named, strict=True)(np.zeros(3), np.zeros(3))


def test_complex_numbers_are_not_dropped() -> None:
    with pytest.raises(NotCompiled, match="complex number is assigned to a real one"):
        pg.jit(of_complex, strict=True)(np.zeros(3, complex), np.zeros(3))
