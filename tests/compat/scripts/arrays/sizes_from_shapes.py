"""Shapes that are expressions: 2*n+1 fine points, m-1 cells; m is found by the call."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, k]: 0<=i<n and 0<=k<m-1 }",
    "coarse[i, k] = (fine[2*i, k] + 2*fine[2*i+1, k] + fine[2*i+2, k+1])/4",
    [
        lp.GlobalArg("fine", np.float64, shape=("2*n+1", "m")),
        lp.GlobalArg("coarse", np.float64, shape=("n", "m-1")),
        lp.ValueArg("n, m", np.int32),
    ],
    assumptions="n >= 1 and m >= 2",
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "i,k")

fine = np.random.default_rng(8).normal(size=(15, 6))
evt, (coarse,) = knl(queue, fine=cl.array.to_device(queue, fine), n=7)

RESULTS = {"coarse": coarse.get(), "shape": list(coarse.shape)}
EXPECTED = {
    "coarse": (fine[:-1:2, :-1] + 2 * fine[1::2, :-1] + fine[2::2, 1:]) / 4,
    "shape": [7, 5],
}
