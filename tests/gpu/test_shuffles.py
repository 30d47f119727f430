"""Reductions by shuffles on a GPU: groups of all sizes, of several axes, under conditions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from tests.nvidia.shuffled import TYPES, rows
from tests.properties.together import run_together


def test_many_sizes_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: list[tuple[Any, dict[str, Any]]] = []
    for size in (*range(1, 70), *range(90, 1025, 37), 1023, 1024):
        a = np.random.default_rng(size).integers(-(2**40), 2**40, (3, size))
        kernels.append((rows(size), {"a": a, "b": np.zeros(3, np.int64), "n": 3}))
    with pg.without_proofs():
        results = run_together(kernels, "cuda", monkeypatch, ())
    for (_, given), found in zip(kernels, results, strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["b"], given["a"].sum(1))


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(dtype: str) -> None:
    text, expected = TYPES[dtype]
    a = np.random.default_rng(3).integers(1, 3, (5, 100)).astype(to_dtype(dtype))
    if dtype in ("float64", "complex128"):  # products
        a = a[:, :40]
    wanted = expected(a)
    _, found = rows(a.shape[1], text).executor("cuda")(a=a)
    for values, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(values, right, rtol=1e-6)


def test_data_decides_how_long_rows_are() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [e]: first<=e<last }"],
        """
        <> first = start[i]
        <> last = start[i+1]
        if wanted[i] > 0
            y[i] = sum(e, v[e])
        end
        """,
        [
            pg.GlobalArg("start", "int32", "n+1"),
            pg.GlobalArg("v", "float64", "m"),
            pg.GlobalArg("y, wanted", "float64", "n"),
            "...",
        ],
    )
    knl = pg.tag_inames(pg.split_iname(knl, "e", 96), {"i": "g.0", "e_inner": "l.0"})
    rng = np.random.default_rng(1)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 300, 200))]).astype(np.int32)
    v: Any = rng.integers(0, 9, int(start[-1])).astype(float)
    wanted = rng.integers(0, 2, 200).astype(float)
    y = np.full(200, -1.0)
    knl.executor("cuda")(start=start, v=v, y=y, wanted=wanted)
    sums = np.array([v[a:b].sum() for a, b in pairwise(start)])
    np.testing.assert_array_equal(y, np.where(wanted > 0, sums, -1))


@pytest.mark.parametrize("size", [31, 64, 256, 1000, 1024])
def test_scans(size: int) -> None:
    a = np.random.default_rng(size).integers(-9, 9, (7, size))
    knl = pg.make_kernel(
        [f"{{ [r,i]: 0<=r<m and 0<=i<{size} }}", "{ [j]: 0<=j<=i }"],
        "b[r,i] = sum(j, a[r,j])",
        [pg.GlobalArg("a", shape=("m", size)), "..."],
    )
    _, (b,) = pg.tag_inames(knl, {"r": "g.0", "i": "l.0"}).executor("cuda")(a=a)
    np.testing.assert_array_equal(b, a.cumsum(1))
    knl = pg.make_kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[i] = sum(j, a[j])")
    _, (b,) = pg.split_iname(knl, "i", size, inner_tag="l.0").executor("cuda")(a=a.reshape(-1)[:-3])
    np.testing.assert_array_equal(b, a.reshape(-1)[:-3].cumsum())
