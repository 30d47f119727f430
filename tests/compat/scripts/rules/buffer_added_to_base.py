"""Sums into an array that has values: a buffer starts at 0 and is added on storing."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, k]: 0<=i<n and 0<=k<9 }",
    "acc[i] = acc[i] + w[k]*f[i, k] {id=add}",
    [
        lp.GlobalArg("acc", np.float64, shape="n"),
        lp.GlobalArg("w", np.float64, shape=(9,)),
        lp.GlobalArg("f", np.float64, shape=("n", 9)),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "i,k")
knl = lp.buffer_array(
    knl, "acc", buffer_inames=[], init_expression="0", store_expression="base + buffer"
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(4)
acc, w, f = rng.normal(size=21), rng.normal(size=9), rng.normal(size=(21, 9))
acc_dev = cl.array.to_device(queue, acc)
knl(queue, acc=acc_dev, w=cl.array.to_device(queue, w), f=cl.array.to_device(queue, f))

RESULTS = {"acc": acc_dev.get()}
EXPECTED = {"acc": acc + f @ w}
