"""Outer products with different orders of loops, layouts and tags, one expectation for all."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
base = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "c[i,j] = a[i]*b[j]",
    [
        lp.GlobalArg("a", np.float64, shape="n"),
        lp.GlobalArg("b", np.float64, shape="m"),
        lp.GlobalArg("c", np.float64, shape="n,m"),
        "...",
    ],
    assumptions="n,m >= 1",
)
rng = np.random.default_rng(25)
a, b = rng.random(19), rng.random(31)
variants = {
    "i outside": lp.prioritize_loops(base, "i,j"),
    "j outside": lp.prioritize_loops(base, ["j", "i"]),
    "by columns": lp.tag_array_axes(base, "c", "f,f"),
    "strides written out": lp.tag_array_axes(base, "c", "stride:m,stride:1"),
    "on a grid": lp.tag_inames(base, "i:g.0, j:l.0"),
    "inner loop unrolled": lp.split_iname(base, "j", 4, inner_tag="unr"),
}
RESULTS, EXPECTED = {}, {}
for what, knl in variants.items():
    evt, (c,) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))
    RESULTS[what] = c.get()
    EXPECTED[what] = np.outer(a, b)
