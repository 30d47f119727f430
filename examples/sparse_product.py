"""Sparse matrix-vector product: the kernel itself reads the bounds of a loop.

    python examples/sparse_product.py

The matrix is in compressed sparse rows; some rows are empty, and one is full.
"""

from typing import Any

import numpy as np
import scipy.sparse
from pymbolic import var

import polygen as pg


def make_sparse_product() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: row_start<=j<row_end }"],
        """
        <> row_start = rowptr[i]
        <> row_end = rowptr[i + 1]
        y[i] = sum(j, values[j] * x[columns[j]])
        """,
        [
            pg.GlobalArg("values", shape=(var("nonzeros"),)),
            pg.GlobalArg("columns", shape=(var("nonzeros"),)),
            pg.GlobalArg("x", shape=(var("width"),)),
            "...",
        ],
        name="sparse_product",
    )


def make_matrix(rows: int, columns: int) -> Any:
    """Return a matrix with few elements, each third row empty, and one row full."""
    rng = np.random.default_rng(seed=1)
    matrix = scipy.sparse.random(rows, columns, density=0.01, format="lil", rng=rng)
    matrix[::3] = 0
    matrix[rows // 2] = rng.uniform(size=columns)
    return scipy.sparse.csr_array(matrix)


def main() -> None:
    matrix = make_matrix(2000, 1500)
    x = np.random.default_rng(seed=2).uniform(size=1500)
    expected = matrix @ x
    lengths = np.diff(matrix.indptr)
    print(f"{matrix.shape[0]} rows with {lengths.min()} to {lengths.max()} elements")

    knl = make_sparse_product()
    print(knl)
    # A group of one work item for each row: in C, the rows are shared among threads.
    tagged = pg.tag_inames(knl, {"i": "g.0"})
    for kernel, how in ((knl, "one loop"), (tagged, "rows in parallel")):
        for target in ("c", "opencl"):
            _, (y,) = kernel.executor(target)(
                rowptr=matrix.indptr, columns=matrix.indices, values=matrix.data, x=x
            )
            np.testing.assert_allclose(y, expected, rtol=1e-12)
            print(f"{how}, {target}: as SciPy")


if __name__ == "__main__":
    main()
