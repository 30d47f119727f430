"""Deviations, places of extremes, counts and running sums, as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.errors import NotCompiled
from tests.python.compared import compare_kernels, returning

RNG = np.random.default_rng(7)
MATRIX = RNG.random((4, 5))
INTEGERS = RNG.integers(-9, 9, (3, 4))


def deviations(a: Any) -> Any:
    return a.var(), np.var(a, axis=0), a.std(axis=1), np.std(a, axis=1, keepdims=True)


def samples(a: Any) -> Any:
    return np.var(a, ddof=1), np.std(a, axis=0, ddof=1)


def of_integers(a: Any) -> Any:
    return a.var(), np.std(a, axis=0), np.var(a > 0)


def of_single_precision(a: Any) -> Any:
    return a.std(axis=0), a.var(axis=1)


def places(a: Any) -> Any:
    return a.argmax(), np.argmin(a), a.argmax(axis=0), np.argmin(a, axis=1), np.argmax(a > 0.5)


def places_of_nothing_but_one(a: Any) -> Any:
    return a[:1].argmax(), a[:1, :1].argmin()


def counts(a: Any) -> Any:
    return np.count_nonzero(a), np.count_nonzero(a > 0, axis=0), np.count_nonzero(a) / 2


def traces(a: Any) -> Any:
    return np.trace(a), a[1:].trace(), np.diag(a) * 2, np.diag(a[0])


def running(a: Any) -> Any:
    return np.cumsum(a[0]), a[1].cumprod(), np.cumsum(a, axis=0), np.cumsum(a * 2, axis=1)


def running_within(a: Any, n: int) -> Any:
    out = np.zeros(n)
    for i in range(n):
        out[i] = np.cumsum(a[i] * 2).max()
    return out


def differences(a: Any) -> Any:
    return np.diff(a), np.diff(a[0], axis=0), np.diff(np.diff(a[0]))


def whole(a: Any) -> Any:
    return np.round(a * 10), (a * 7).round()


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = [
        (deviations, (MATRIX,)),
        (samples, (MATRIX,)),
        (of_integers, (INTEGERS,)),
        (of_single_precision, (MATRIX.astype(np.float32),)),
        (places, (MATRIX,)),
        (places_of_nothing_but_one, (MATRIX,)),
        (counts, (INTEGERS,)),
        (traces, (MATRIX,)),
        (running, (INTEGERS,)),
        (running_within, (MATRIX, 4)),
        (differences, (INTEGERS,)),
        (whole, (MATRIX,)),
    ]
    compare_kernels(calls, monkeypatch)


def test_small_types_and_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_ = RNG.integers(-128, 128, (3, 3), np.int8)
    for array in (bytes_, bytes_.astype(np.uint8)):
        with pytest.MonkeyPatch.context() as patch:
            compare_kernels([(_flat, (array[0],)), (_matrix, (array,))], patch)
    compare_kernels([(_flat, (bytes_[0, :0],)), (_matrix, (bytes_[:0, :0],))], monkeypatch)


def _flat(a: Any) -> Any:
    return a.cumsum(), a.cumprod(), np.count_nonzero(a)


def _matrix(a: Any) -> Any:
    return np.trace(a), np.diff(a), np.count_nonzero(a, axis=0)


def test_ties_and_what_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    ties = np.array([[2.0, 5.0, 5.0], [5.0, np.nan, np.nan], [1.0, 1.0, 1.0]])
    compare_kernels([(_places, (ties,))], monkeypatch)


def _places(a: Any) -> Any:
    return a.argmax(), a.argmin(), a.argmax(axis=1), a.argmin(axis=0), a.argmax(axis=0)


def numbers(a: Any) -> Any:
    return np.nan_to_num(a), np.nan_to_num(a[0] * 2)


def test_numbers_for_what_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.array([[1.5, np.nan, np.inf], [-np.inf, -0.0, 1e300]])
    compare_kernels([(numbers, (array,))], monkeypatch)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("np.round(a, 2)", "decimals"),
        ("np.diff(a, 2)", "higher order"),
        ("np.diag(a, 1)", "main one"),
        ("np.var(a + 1j)", "complex"),
        ("np.argmax(a + 1j)", "complex"),
        ("np.diff(a > 1)", "truth values"),
        ("np.nan_to_num(a + 1j)", "complex128"),
    ],
)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(NotCompiled, match=says):
        returning(text, strict=True)(MATRIX)
