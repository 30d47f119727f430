"""Sums of products by their indices, as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.errors import NotCompiled
from tests.python.compared import compare_kernels, returning

RNG = np.random.default_rng(9)
A, B = RNG.random((3, 4)), RNG.random((4, 2))
STACK, OTHERS = RNG.integers(-5, 5, (2, 3, 4)), RNG.integers(-5, 5, (2, 4, 2))


def by_indices(a: Any, b: Any) -> Any:
    return (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij, jk", a, b),
        np.einsum("ij->ji", a),
        np.einsum("ij->", a),
        np.einsum("ij,ij->i", a, a),
        np.einsum("i,j->ij", a[0], b[:, 0]),
        np.einsum("ii", a[:, :3]),
        np.einsum("ij,jk,k->i", a, b, b[0]),
    )


def by_axes(a: Any, b: Any) -> Any:
    return (
        np.tensordot(a, b, axes=1),
        np.tensordot(a, b, axes=([1], [0])),
        np.tensordot(a, a, axes=((0,), (0,))),
        np.inner(a, a),
        np.inner(a[0], a[1]),
    )


def of_stacks(a: Any, b: Any) -> Any:
    return a @ b, np.matmul(a, b[0]), np.matmul(a[0], b), (a @ b).sum(axis=0)


def of_single_precision(a: Any, b: Any) -> Any:
    return np.einsum("ij,jk->ik", a, b)


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [
        (by_indices, (A, B)),
        (by_axes, (A, B)),
        (of_stacks, (STACK, OTHERS)),
        (of_single_precision, (A.astype(np.float32), B.astype(np.float32))),
    ]
    compare_kernels(calls, monkeypatch)


def test_nothing_is_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_kernels([(of_stacks, (STACK[:, :, :0], OTHERS[:, :0]))], monkeypatch)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("np.einsum('i...->...', a)", r"'\.\.\.'"),
        ("np.einsum('ij,j->i', a, a)", "other subscripts than operands"),
        ("np.einsum('ij,jk->ik', a, a)", "two extents for 'j'"),
        ("np.einsum('ij->ik', a)", "a result with other subscripts"),
        ("np.einsum('ij->i', a > 1)", "truth values"),
        ("np.einsum('ii->i', a[:, :3])", "diagonal"),
        ("np.tensordot(a, a, axes=2)", "without any"),
        ("np.inner(a, 2.0)", "scalar"),
    ],
)
def test_refused(text: str, says: str) -> None:
    with pytest.raises(NotCompiled, match=says):
        returning(text, strict=True)(A)
