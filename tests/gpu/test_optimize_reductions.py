"""`optimize_reductions` on a GPU: as NumPy, whatever is chosen, and with what is measured there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg

Right = Callable[[Any], Any]
FORMS: tuple[tuple[str, Right], ...] = (
    ("s[0] = sum((i,j), a[i,j])", lambda a: [a.sum()]),
    ("s[i] = sum(j, a[i,j])", lambda a: a.sum(1)),
    ("s[j] = max(i, a[i,j])", lambda a: a.max(0)),
)
SIZES = ((1, 1), (3, 100003), (100003, 3), (257, 1000), (1000, 257), (64, 64))
SHAPES = [(shape, text, right) for shape in SIZES for text, right in FORMS]


def summed(shape: tuple[int, int], text: str) -> pg.Kernel:
    n, m = shape
    knl = pg.make_kernel(f"{{ [i,j]: 0<=i<{n} and 0<=j<{m} }}", text)
    return pg.add_dtypes(knl, {"a": "float64"})


@pytest.mark.parametrize(("shape", "text", "right"), SHAPES)
def test_as_numpy(shape: tuple[int, int], text: str, right: Right) -> None:
    knl = pg.optimize_reductions(summed(shape, text), pg.Limits.of_device())
    a = np.random.default_rng(1).normal(size=shape)
    _, (found,) = knl.executor("cuda")(a=a)
    np.testing.assert_allclose(found, right(a), rtol=1e-10, atol=1e-10)


def test_the_same_bits_in_each_run() -> None:
    knl = pg.optimize_reductions(summed((3, 10**6), SHAPES[0][1]), pg.Limits.of_device())
    run = knl.executor("cuda")
    a = np.random.default_rng(2).normal(size=(3, 10**6))
    assert len({run(a=a)[1][0].tobytes() for _ in range(20)}) == 1


def test_tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    knl = summed((4093, 1000), "s[j] = sum(i, a[i,j])")
    fast = pg.optimize_reductions(knl, pg.Limits.of_device(), tune=True)
    assert fast == pg.optimize_reductions(knl, pg.Limits.of_device(), tune=True)
    a = np.random.default_rng(3).normal(size=(4093, 1000))
    np.testing.assert_allclose(fast.executor("cuda")(a=a)[1][0], a.sum(0), rtol=1e-9, atol=1e-9)
