"""Loads of elements added to nodes atomically: for_atomic arguments, gathers and scatters."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i]: 0<=e<ne and 0<=i<2 }",
    """
    <> length = x[conn[e,1]] - x[conn[e,0]] {id=len}
    load[conn[e,i]] = load[conn[e,i]] + 0.5*length*f[e] {id=add, dep=len, atomic}
    """,
    [
        lp.GlobalArg("x", np.float64, shape="nn"),
        lp.GlobalArg("f", np.float64, shape="ne"),
        lp.GlobalArg("conn", np.int32, shape="ne,2"),
        lp.GlobalArg("load", np.float64, shape="nn", for_atomic=True),
        lp.ValueArg("ne,nn", np.int32),
    ],
    name="assemble",
    assumptions="ne>=1",
)
knl = lp.split_iname(knl, "e", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, {"i": "unr"})
n = 38
x = np.sort(np.random.default_rng(62).random(n))
f = np.cos(np.arange(n - 1.0))
conn = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1).astype(np.int32)
load = cl.array.zeros(queue, n, np.float64)
knl(queue, x=x, f=f, conn=conn, load=load)

expected = np.zeros(n)
for first, second in conn:
    expected[[first, second]] += 0.5 * (x[second] - x[first]) * f[first]
RESULTS = {"load": load.get()}
EXPECTED = {"load": expected}
