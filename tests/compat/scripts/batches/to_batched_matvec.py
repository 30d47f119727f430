"""A matrix-vector product made one of many: the vectors vary, the matrix is shared."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(100)
n, nbatches = 7, 13
a = rng.normal(size=(n, n))
xs = rng.normal(size=(nbatches, n))

knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    "out[i] = sum(j, a[i,j]*x[j])",
    [
        lp.GlobalArg("out", np.float64, shape=lp.auto),
        lp.GlobalArg("x", np.float64, shape=lp.auto),
        lp.GlobalArg("a", np.float64, shape=lp.auto),
        ...,
    ],
    seq_dependencies=True,
    lang_version=(2018, 2),
)
bknl = lp.to_batched(knl, "nbatches", ["out", "x"], "ibatch")
bknl = lp.tag_inames(bknl, {"i": "l.0"})
evt, (one,) = knl(queue, a=cl.array.to_device(queue, a), x=cl.array.to_device(queue, xs[3]))
evt, (many,) = bknl(queue, a=cl.array.to_device(queue, a), x=cl.array.to_device(queue, xs))

RESULTS = {"one": one.get(), "many": many.get()}
EXPECTED = {"one": a @ xs[3], "many": xs @ a.T}
