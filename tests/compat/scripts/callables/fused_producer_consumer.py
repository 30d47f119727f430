"""Two kernels made one by fuse_kernels with data_flow: gradient, then its magnitude."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
grad = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "g[i] = (u[i+1] - u[i]) * inv_h",
    [
        lp.GlobalArg("u", np.float64, shape="n+1"),
        lp.GlobalArg("g", np.float64, shape="n"),
        lp.ValueArg("inv_h", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="grad",
    lang_version=(2018, 2),
)
magnitude = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "mag[i] = sqrt(gg[i]*gg[i] + eps)",
    [
        lp.GlobalArg("gg, mag", np.float64, shape="n"),
        lp.ValueArg("eps", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="magnitude",
    lang_version=(2018, 2),
)
magnitude = lp.rename_argument(magnitude, "gg", "g")
knl = lp.fuse_kernels((grad, magnitude), data_flow=[("g", 0, 1)])

u = np.random.default_rng(14).normal(size=48)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, u=cl.array.to_device(queue, u), inv_h=4.0, eps=1e-3)

g = np.diff(u) * 4
RESULTS = {"g": out["g"].get(), "mag": out["mag"].get()}
EXPECTED = {"g": g, "mag": np.sqrt(g * g + 1e-3)}
