"""A sparse matrix in CSR times a vector; the length of each row bounds the inner loop."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(3)
n = 37
dense = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.2)
rowstarts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
colidx = np.nonzero(dense)[1].astype(np.int32)
values = dense[dense != 0]
x = rng.normal(size=n)

knl = lp.make_kernel(
    ["{ [i]: 0<=i<n }", "{ [jj]: 0<=jj<row_len }"],
    """
    for i
        <> row_start = rowstarts[i]
        <> row_len = rowstarts[i+1] - row_start
        y[i] = sum(jj, values[row_start+jj] * x[colidx[row_start+jj]])
    end
    """,
    [
        lp.GlobalArg("rowstarts", np.int32, shape="n+1"),
        lp.GlobalArg("colidx", np.int32, shape="nnz"),
        lp.GlobalArg("values", np.float64, shape="nnz"),
        lp.GlobalArg("x", np.float64, shape="m"),
        lp.ValueArg("m,nnz", np.int32),
        ...,
    ],
    name="csr_matvec",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n >= 1")
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
evt, (y,) = knl(
    queue,
    rowstarts=cl.array.to_device(queue, rowstarts),
    colidx=cl.array.to_device(queue, colidx),
    values=cl.array.to_device(queue, values),
    x=cl.array.to_device(queue, x),
)

RESULTS = {"y": y.get()}
EXPECTED = {"y": dense @ x}
