"""Averages over a window, with the signal fetched into local memory together with its halo."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(169)
n, w = 64, 5
x = rng.normal(size=n + w - 1).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<n and 0<=k<5 }",
    "avg[i] = sum(k, x[i+k])/5",
    [
        lp.GlobalArg("x", np.float32, shape="n+4"),
        lp.GlobalArg("avg", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n mod 16 = 0 and n>=16",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.add_prefetch(knl, "x", ["i_inner", "k"], default_tag="l.auto")
evt, (avg,) = knl(queue, x=cl.array.to_device(queue, x))

RESULTS = {"avg": avg.get()}
EXPECTED = {"avg": np.lib.stride_tricks.sliding_window_view(x, w).mean(axis=1)}
