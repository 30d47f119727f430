"""Rank-one updates onto a matrix that is kept in a buffer: buffer_array, init and store."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i,j<12 and 0<=k<5 }",
    "C[i, j] = C[i, j] + a[k, i]*b[k, j] {id=update}",
    [
        lp.GlobalArg("C", np.float64, shape=(12, 12)),
        lp.GlobalArg("a, b", np.float64, shape=(5, 12)),
    ],
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.prioritize_loops(knl, "i,k,j")
knl = lp.buffer_array(knl, "C", buffer_inames="j", default_tag=None)
lp.auto_test_vs_ref(ref_knl, ctx, knl, print_code=False)

rng = np.random.default_rng(15)
C, a, b = rng.normal(size=(12, 12)), rng.normal(size=(5, 12)), rng.normal(size=(5, 12))
C_dev = cl.array.to_device(queue, C)
knl(queue, C=C_dev, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

RESULTS = {"C": C_dev.get()}
EXPECTED = {"C": C + a.T @ b}
