"""Work groups that are clusters of blocks, on a GPU that has these."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from tests.oracle.cases import kernel

SOFTMAX = ["most", "total", "y"]


@pytest.mark.parametrize(("m", "blocks", "threads"), [(5000, 3, 64), (65536, 8, 256)])
def test_rows_of_several_blocks(m: int, blocks: int, threads: int) -> None:
    knl = kernel(
        "{ [i,j,k,l]: 0<=i<n and 0<=j,k,l<m }",
        """
        power(at) := exp(x[i, at] - most)
        <> most = max(j, x[i,j])     {id=most}
        <> total = sum(k, power(k))  {id=total}
        y[i,l] = power(l)/total      {id=y}
        """,
        pg.GlobalArg("x, y", "float32", "n, m", alignment=16),
    )
    knl = pg.fix_parameters(knl, m=m)
    knl = pg.share_rows(knl, SOFTMAX, threads=threads, blocks=blocks, keep="power, x")
    run = pg.set_options(knl, clusters=True).executor("cuda")
    for n in (1, 300):
        x = np.random.default_rng(n).standard_normal((n, m)).astype(np.float32)
        powers = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
        expected = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(run(x=x)[1][0], expected, rtol=1e-5)


@pytest.mark.parametrize("blocks", [2, 5, 8])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_groups_that_share_a_sum(dtype: str, blocks: int) -> None:
    knl = kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])", pg.GlobalArg("a", dtype, "n"))
    knl = pg.parallelize_reduction(
        knl, "insn", blocks=blocks, threads=96, items=3, finish="cluster"
    )
    run = knl.executor("cuda")
    for n in (0, 1, 97, 8191, 100003):
        a = np.random.default_rng(n).integers(-9, 10, n).astype(dtype)
        assert run(a=a)[1][0] == a.sum()  # exact: all are small integers


@pytest.mark.parametrize("element", ["a[i,j]", "a[j,i]"])
def test_groups_that_share_rows_and_columns(element: str) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<m and 0<=j<n }",
        f"s[i] = max(j, {element})*sum(j, {element})",
        pg.GlobalArg("a", "float32", element[2:5].replace("i", "m").replace("j", "n")),
    )
    knl = pg.parallelize_reduction(knl, "insn", blocks=4, across=32, finish="cluster")
    run = knl.executor("cuda")
    for m, n in ((1, 1), (33, 1009), (300, 4096)):
        rows = np.random.default_rng(n).integers(-9, 10, (m, n)).astype(np.float32)
        a = rows if element == "a[i,j]" else np.ascontiguousarray(rows.T)
        np.testing.assert_array_equal(run(a=a)[1][0], rows.max(axis=1) * rows.sum(axis=1))
