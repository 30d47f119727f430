"""Sums that are no tiles: along memory, or rows added to rows of results."""

from __future__ import annotations

import numpy as np

import polygen as pg

RNG = np.random.default_rng(4)


def test_products_in_steps_of_time_add_rows_to_rows() -> None:
    """Along k, one factor jumps from row to row; along j, neither does."""
    knl = _powers()
    fast = pg.optimize(knl, sizes={"n": 100})
    taken = [c for c in fast.choices if c.is_taken and c.what == "in the order of memory"]
    assert [c.ids for c in taken] == [("product",)]
    for n in (1, 7, 33):
        a, b = RNG.integers(-3, 4, (2, n, n)).astype(np.float64)
        expected = b @ a @ a @ a
        fast.executor("c")(a=a, b=b, c=np.empty((n, n)), n=n)
        np.testing.assert_array_equal(b, expected)


def _powers() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [t]: 0<=t<3 }", "{ [i,j,k]: 0<=i,j,k<n }", "{ [p,q]: 0<=p,q<n }"],
        """
        for t
            for i, j
                c[i,j] = sum(k, b[i,k]*a[k,j])  {id=product}
            end
            for p, q
                b[p,q] = c[p,q]  {id=copy}
            end
        end
        """,
        target="c",
        seq_dependencies=True,
        loop_priority=("t, i, j", "t, p, q"),
    )
    return pg.add_dtypes(knl, {"a, b, c": "float64"})
