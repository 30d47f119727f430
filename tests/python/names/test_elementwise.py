"""Functions of elements: types as NumPy has them, masks, and where a result goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.python.compared import compare, compare_kernels

BYTES = np.array([-3, 0, 5, 127], np.int8)
SINGLE = np.array([0.5, -0.0, np.nan, 2.0], np.float32)
TRUTHS = np.array([True, False, True, False])
COMPLEX = np.array([0, 1j, -2.0, 0.5 + 1j])


def types(b: Any, f: Any, t: Any, z: Any, n: int) -> Any:
    """Of Python's numbers, NumPy's functions make NumPy's."""
    first = np.heaviside(t, b), np.heaviside(f, b), np.logaddexp(b, t), np.logaddexp(f, f)
    second = np.nanmax(b), np.nanmin(t), np.sinc(f), np.sinc(t)
    third = np.sqrt(n) * f, np.minimum(n, 2.0) * f, np.power(n, 0.5) * f, abs(n) * f
    return first, second, third, z.astype(np.bool_), np.logical_not(z), np.linspace(0, n, n - 2)


def into(f: Any, t: Any, b: Any) -> Any:
    out = np.zeros(4)
    for _ in range(2):
        np.power(f, 2, out=out, where=t)
        np.add(out, b, out=out, where=b > 0)
    return out, np.linspace(0.0, 1.0, 5, endpoint=False), np.diag(np.diag(np.outer(b, b)))


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = [
        (types, (BYTES, SINGLE, TRUTHS, COMPLEX, 3)),
        (into, (SINGLE, TRUTHS, BYTES)),
    ]
    compare_kernels(calls, monkeypatch)


def diagonal(a: Any) -> Any:
    found = np.diag(a)
    a[:, :] = 2 * a
    return found


def rows(x: Any, mask: Any, row: Any) -> Any:
    for _ in range(2):
        total = x[mask].sum(axis=0) + x[mask].mean(axis=0) + x[mask].mean()
        x[mask] = row
        x[~mask] *= 2
    return total, x[:, 0][mask].max(), np.any(x[mask] > 1)


def largest(x: Any) -> Any:
    return x[x > 5].max() + x.sum()


def test_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A diagonal is a view; masks choose rows."""
    x = np.arange(12.0).reshape(4, 3)
    calls: list[Any] = [(diagonal, (x,)), (rows, (x, TRUTHS, np.ones(3)))]
    compare(calls, monkeypatch)


def inverse(x: Any) -> Any:
    return np.reciprocal(x) + 1


def greatest(z: Any) -> Any:
    return np.maximum(z, 0), z.max()


def test_what_kernels_do_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays Python, whatever is found out only as types are inferred."""
    compiled = compare([(inverse, (BYTES | 1,)), (greatest, (COMPLEX,))], monkeypatch)
    assert "np.reciprocal of integers" in compiled[0].explain()
    assert "only there for real numbers" in compiled[1].explain()
    with pytest.raises(ValueError, match="zero-size array to reduction"):
        pg.jit(largest, target="c")(np.zeros(3))
    with pytest.raises(ValueError, match="zero-size array"):
        largest(np.zeros(3))
