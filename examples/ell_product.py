"""Sparse matrix-vector product in the ELL format: all rows are padded to one length.

    python examples/ell_product.py

Elements are stored column by column: neighbouring work items, which have neighbouring rows, read
neighbouring elements.  Padding has the value zero.  examples/sparse_product.py is about the format
CSR.
"""

from typing import Any

import numpy as np
import scipy.sparse

import polygen as pg

ITEMS = 64


def make_product() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<width }"],
        "y[i] = sum(j, values[j, i] * x[columns[j, i]])",
        [pg.GlobalArg("x", shape="m"), "..."],
        name="ell_product",
    )


def on_the_grid() -> pg.Kernel:
    return pg.split_iname(make_product(), "i", ITEMS, outer_tag="g.0", inner_tag="l.0")


def to_ell(matrix: Any) -> tuple[Any, Any]:
    """Return the values and columns of a matrix in CSR, each row padded to the longest."""
    lengths = np.diff(matrix.indptr)
    values = np.zeros((lengths.max(), matrix.shape[0]))
    columns = np.zeros(values.shape, np.int32)
    for row, (start, length) in enumerate(zip(matrix.indptr, lengths, strict=False)):
        values[:length, row] = matrix.data[start : start + length]
        columns[:length, row] = matrix.indices[start : start + length]
    return values, columns


def main() -> None:
    knl = on_the_grid()
    types = {"values, x": np.float32, "columns": np.int32}
    print(pg.generate_code(pg.add_dtypes(knl, types), "opencl"))
    rng = np.random.default_rng(seed=1)
    matrix = scipy.sparse.csr_array(
        scipy.sparse.random(300, 200, density=0.03, format="csr", rng=rng)
    )
    values, columns = to_ell(matrix)
    x = rng.normal(size=200)
    for target in ("opencl", "c"):
        _, (y,) = knl.executor(target)(values=values, columns=columns, x=x)
        np.testing.assert_allclose(y, matrix @ x, rtol=1e-12, atol=1e-14)
        print(f"{target}: as SciPy")


if __name__ == "__main__":
    main()
