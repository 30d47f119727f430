"""Other shapes of the same elements, as NumPy has them: views where it has views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.errors import NotCompiled
from tests.python.compared import compare, compare_kernels, returning

RNG = np.random.default_rng(10)
CUBE = RNG.random((3, 4, 6))
MATRIX = RNG.random((4, 6))


def merged(a: Any) -> Any:
    return a.reshape(3, 24) * 2, a.reshape(a.shape[0] * a.shape[1], a.shape[2]) + 1, a.ravel() * 3


def split(a: Any) -> Any:
    return (
        a.reshape(2, 2, 6).sum(axis=1),
        a.reshape((4, 3, 2)) * 2,
        np.reshape(a, (-1, 2)).max(axis=0),
        a.reshape(8, -1) - 1,
        a.reshape(3, 8) + 1,
    )


def other_axes(a: Any) -> Any:
    return a.reshape(a.shape[0], 1, a.shape[1]) * a, a.reshape(1, 4, 6, 1).sum(axis=2)


def copies(a: Any) -> Any:
    b = a.flatten()
    b[0] = 7.0
    c = (a * 2).ravel()
    c[1] = 8.0
    return b, c


def written_through(a: Any) -> None:
    flat = a.reshape(-1)
    flat[::2] = -1.0
    rows = a.reshape(2, a.size // 2)
    rows[0] += rows[1]


def views(a: Any) -> Any:
    for i in range(a.shape[0]):
        a[i] *= 2.0
    return a.reshape(-1), a.reshape(3, 8), a.ravel()


def new_arrays(n: int) -> Any:
    a = np.arange(n * 6).reshape(n, 6)
    b = np.zeros((n, 6))
    b.reshape(-1)[1:] += 1.0
    return a * 2, b


def within_a_loop(a: Any) -> Any:
    out = np.zeros((a.shape[0], a.shape[2]))
    for i in range(a.shape[0]):
        b = a[i] * 2.0
        out[i] = b.reshape(2, 2, a.shape[2]).sum(axis=(0, 1))
    return out


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = [
        (merged, (CUBE,)),
        (split, (MATRIX,)),
        (other_axes, (MATRIX,)),
        (copies, (MATRIX,)),
        (written_through, (MATRIX,)),
        (views, (MATRIX,)),
        (new_arrays, (5,)),
        (within_a_loop, (CUBE,)),
    ]
    compare_kernels(calls, monkeypatch)


def transposed(a: Any) -> Any:
    b = a.reshape(-1)
    b[0] = 5.0
    return a.ravel() + 1, b


def both_orders(a: Any) -> Any:
    a += 1.0
    return a.reshape(-1)


def test_what_does_not_follow_in_memory_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    for array in (MATRIX.T, np.asfortranarray(MATRIX), MATRIX[:, ::2]):
        with pytest.MonkeyPatch.context() as patch:
            compare([(transposed, (array,))], patch)
    (function,) = compare([(both_orders, (MATRIX,))], monkeypatch)
    mine, plain = MATRIX.copy().T, MATRIX.copy().T
    found = function(mine)
    assert np.array_equal(found, both_orders(plain))
    assert not np.shares_memory(found, mine)
    again = MATRIX.copy()
    assert np.shares_memory(function(again), again)


def empty(a: Any) -> Any:
    return a.reshape(-1) * 2, a.reshape(0, 7), a.ravel().sum()


def _reshaped_parts(a: Any) -> Any:
    return a[1:].reshape(-1) * 2, np.sum(a.T.reshape(-1)[::2]), a[:, ::-1].reshape(-1, 1) + a[0, 0]


def test_parts_within_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether NumPy has a view or a copy of a part cannot be seen there."""
    compare_kernels([(_reshaped_parts, (MATRIX,))], monkeypatch)


def test_no_elements_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compare([(empty, (MATRIX[:0],))], monkeypatch)
    for array in (MATRIX[:1], MATRIX[:, :1], MATRIX[:1, :1]):
        with pytest.MonkeyPatch.context() as patch:
            compare_kernels([(both_orders, (array.copy(),))], patch)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a.reshape(5, 5)", "cannot be given the shape"),
        ("a.reshape(5, -1)", "cannot be given the shape"),
        ("a.reshape(-1, order='F')", "another order"),
        ("a[1:].reshape(-1)", "a part of an array"),
    ],
)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(NotCompiled, match=says):
        returning(text, strict=True)(MATRIX)
