"""Prefix sums by the work items of one group, and running sums of every second element."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(149)
n = 32
x = rng.normal(size=(4, 2 * n))

knl = lp.make_kernel(
    ["{ [b]: 0<=b<4 }", "{ [i,j]: 0<=i<32 and 0<=j<=i }"],
    "out[b,i] = sum(j, x[b,2*j])",
    [lp.GlobalArg("x", np.float64, shape=(4, 2 * n)), ...],
    name="every_second",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"i": "l.0", "b": "g.0"})
knl = lp.realize_reduction(knl, force_scan=True)
evt, (out,) = knl(queue, x=cl.array.to_device(queue, x))

RESULTS = {"out": out.get()}
EXPECTED = {"out": np.cumsum(x[:, ::2], axis=1)}
