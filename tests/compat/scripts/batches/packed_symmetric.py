"""A symmetric matrix, packed by rows of its lower triangle, times a vector."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(123)
n = 22
full = rng.normal(size=(n, n))
full = full + full.T
packed = full[np.tril_indices(n)]
x = rng.normal(size=n)

knl = lp.make_kernel(
    ["{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<=i }", "[n,i] -> { [k]: i<k<n }"],
    """
    at(r, c) := (r*(r+1))//2 + c
    y[i] = sum(j, ap[at(i,j)]*x[j]) + sum(k, ap[at(k,i)]*x[k])
    """,
    [
        lp.GlobalArg("ap", np.float64, shape="(n*(n+1))//2"),
        lp.GlobalArg("x,y", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n>=2",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"i": "g.0"})
evt, (y,) = knl(queue, ap=cl.array.to_device(queue, packed), x=cl.array.to_device(queue, x), n=n)

RESULTS = {"y": y.get()}
EXPECTED = {"y": full @ x}
