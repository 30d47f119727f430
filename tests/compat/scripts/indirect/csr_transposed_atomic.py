"""The transpose of a CSR matrix times a vector: atomic updates at the columns."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(8)
m, n = 29, 13
dense = rng.integers(1, 9, size=(m, n)) * (rng.random((m, n)) < 0.3)
indptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
indices = np.nonzero(dense)[1].astype(np.int32)
data = dense[dense != 0].astype(np.float32)
x = rng.integers(-4, 5, size=m).astype(np.float32)

knl = lp.make_kernel(
    [
        "{ [i]: 0<=i<m }",
        "[beg, fin] -> { [j]: beg<=j<fin }",
    ],
    """
    for i
        <> beg = indptr[i] {id=beg}
        <> fin = indptr[i+1] {id=fin}
        for j
            y[indices[j]] = y[indices[j]] + data[j]*x[i] {atomic, dep=beg:fin}
        end
    end
    """,
    [
        lp.GlobalArg("indptr", np.int32, shape=("m+1",)),
        lp.GlobalArg("indices", np.int32, shape=("nnz",)),
        lp.GlobalArg("data", np.float32, shape=("nnz",)),
        lp.GlobalArg("x", np.float32, shape=("m",)),
        lp.GlobalArg("y", np.float32, shape=("n",), for_atomic=True),
        lp.ValueArg("n,nnz", np.int32),
        "...",
    ],
    assumptions="m>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
evt, (y,) = knl(
    queue, indptr=indptr, indices=indices, data=data, x=x, y=np.zeros(n, dtype=np.float32)
)

RESULTS = {"y": y}
EXPECTED = {"y": dense.T @ x}
