"""Sums over one iname at the same time: a weighted mean, and its spread, in one loop."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(161)
x, w = rng.uniform(1, 2, size=(2, 51))

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> s0 = simul_reduce(sum, i, w[i])
    <> s1 = simul_reduce(sum, i, w[i]*x[i])
    <> s2 = simul_reduce(sum, i, w[i]*x[i]**2)
    mean = s1/s0
    spread = sqrt(s2/s0 - (s1/s0)**2)
    """,
    [
        lp.GlobalArg("x,w", np.float64, shape="n"),
        lp.GlobalArg("mean,spread", np.float64, shape=()),
        ...,
    ],
    name="weighted",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, x=cl.array.to_device(queue, x), w=cl.array.to_device(queue, w))

mean = np.average(x, weights=w)
RESULTS = {"mean": out["mean"].get(), "spread": out["spread"].get()}
EXPECTED = {
    "mean": np.array(mean),
    "spread": np.array(np.sqrt(np.average((x - mean) ** 2, weights=w))),
}
