"""Blocks of four in memory: split_array_dim makes u[i] a u[i//4, i%4], and splits the loop."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, f]: 0<=i<4*nb and 0<=f<3 }",
    "out[f, i] = 2*u[f, i] + f",
    [
        lp.GlobalArg("u, out", np.float64, shape=(3, "4*nb")),
        lp.ValueArg("nb", np.int32),
    ],
    assumptions="nb >= 1",
    lang_version=(2018, 2),
)
knl = lp.split_array_dim(knl, [("u", 1), ("out", 1)], 4)
shapes = [len(knl.default_entrypoint.arg_dict[name].shape) for name in ("u", "out")]

u = np.random.default_rng(5).normal(size=(3, 20))
evt, (out,) = knl(queue, u=cl.array.to_device(queue, u.reshape(3, 5, 4)), nb=5)

RESULTS = {"out": out.get().reshape(3, 20), "axes": shapes}
EXPECTED = {"out": 2 * u + np.arange(3)[:, None], "axes": [3, 3]}
