"""Arrays joined, with borders, or turned around, as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.errors import NotCompiled
from tests.python.compared import compare_kernels, returning

RNG = np.random.default_rng(8)
MATRIX, OTHER = RNG.random((3, 4)), RNG.integers(-9, 9, (3, 4))


def joined(a: Any, b: Any) -> Any:
    both = np.concatenate((a, b))
    return both, np.concatenate([a, b, a], axis=1), np.concatenate((a[:, 0], b[0]))


def beside(a: Any, b: Any) -> Any:
    return np.hstack((a, b)), np.hstack([a[0], b[1]]), np.column_stack((a[:, 0], b))


def below(a: Any, b: Any) -> Any:
    return np.vstack((a, b)), np.vstack((a[0], b))


def stacked(a: Any, b: Any) -> Any:
    return np.stack((a, b)), np.stack((a, b), axis=1), np.stack((a[0], b[0]), -1)


def bordered(a: Any, b: Any) -> Any:
    return (
        np.pad(a, 2),
        np.pad(b, (1, 0)),
        np.pad(a, ((1, 2), (0, 3))),
        np.pad(b, 1, mode="constant", constant_values=7),
        np.pad(a[0], 1),
    )


def bordered_within(a: Any) -> Any:
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        line = np.pad(a[i], 1)
        out[i] = (line[2:] - line[:-2]).max()
    return out


def rolled(a: Any, b: Any) -> Any:
    return (
        np.roll(a[0], 1),
        np.roll(b[0], -2),
        np.roll(a, 1, axis=0),
        np.roll(b, -1, 1) + np.roll(a, 3, axis=1),
        np.roll(b[0], 0),
        np.roll(a, 9, axis=0),
        np.roll(b, (-7, 2), axis=(0, 1)),
    )


def rolled_by_data(a: Any, shifts: Any) -> None:
    for i in range(3):
        a[i] = np.roll(a[i], shifts[i])


def rolled_in_place(a: Any) -> None:
    a[:] = np.roll(a, 1, axis=0) + np.roll(a, -1, axis=1)


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (joined, beside, below, stacked, bordered, rolled)
    calls: list[Any] = [(function, (MATRIX, OTHER)) for function in both]
    calls += [(bordered_within, (MATRIX,)), (rolled_in_place, (MATRIX,))]
    calls += [(rolled_by_data, (MATRIX, np.array([5, -6, 0])))]
    compare_kernels(calls, monkeypatch)


def _everything(a: Any) -> Any:
    return np.concatenate((a, a)), np.pad(a, 1), np.roll(a, 1), np.stack((a, a), 1)


def test_no_elements_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (0, 1):
        with pytest.MonkeyPatch.context() as patch:
            compare_kernels([(_everything, (MATRIX[0, :size],))], patch)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("np.pad(a, 1, mode='edge')", "something else than a constant"),
        ("np.roll(a, 1)", "name the axis"),
        ("np.roll(a, (1, 2, 3), axis=(0, 1))", "other numbers of shifts and of axes"),
        ("np.roll(a, 1.5, axis=0)", "no integer"),
        ("np.concatenate((a, a[0]))", "numbers of axes"),
        ("np.concatenate((a, a[:, :2]))", "different extents"),
        ("np.hstack((a[0], 1.0))", "scalar"),
        ("np.pad(a, ((1, 1), (1, 1), (1, 1)))", "as many widths"),
    ],
)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(NotCompiled, match=says):
        returning(text, strict=True)(MATRIX)
