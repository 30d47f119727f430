"""Hands a matrix over transposed: a sub-array reference with swapped sweep inames."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
lower_sum = lp.make_function(
    "{ [i, j]: 0<=i<6 and 0<=j<=i }",
    "s[i] = sum(j, m[i, j])",
    [lp.GlobalArg("m", shape=(6, 6)), lp.GlobalArg("s", shape=(6,))],
    name="lower_sum",
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [p, r, c]: 0<=p,r,c<6 }",
    "[p]: s_upper[p] = lower_sum([r, c]: m[c, r])",
    [lp.GlobalArg("m", np.float64, shape=(6, 6)), lp.GlobalArg("s_upper", shape=(6,))],
    lang_version=(2018, 2),
)
knl = lp.merge([knl, lower_sum])

m = np.random.default_rng(1).integers(0, 50, size=(6, 6)).astype(np.float64)
evt, (s_upper,) = knl(queue, m=cl.array.to_device(queue, m))

RESULTS = {"s_upper": s_upper.get()}
EXPECTED = {"s_upper": np.triu(m).sum(axis=0)}
