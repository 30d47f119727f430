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
