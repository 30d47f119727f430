"""A matrix stored in 4x4 tiles: split_array_axis of both axes, layout by tag_array_axes."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<12 }",
    "y[i] = sum(j, M[i, j]*x[j])",
    [lp.GlobalArg("M", np.float64, shape=(12, 12)), lp.GlobalArg("x, y", np.float64, shape=(12,))],
    lang_version=(2018, 2),
)
knl = lp.split_array_axis(knl, "M", 1, 4)
knl = lp.split_array_axis(knl, "M", 0, 4)
knl = lp.tag_array_axes(knl, "M", "N3,N1,N2,N0")
knl = lp.fold_constants(knl)
M_arg = knl.default_entrypoint.arg_dict["M"]

rng = np.random.default_rng(19)
M, x = rng.normal(size=(12, 12)), rng.normal(size=12)
tiles = np.ascontiguousarray(M.reshape(3, 4, 3, 4).transpose(0, 2, 1, 3))
stored = cl.array.to_device(queue, tiles).transpose((0, 2, 1, 3))
evt, (y,) = knl(queue, M=stored, x=cl.array.to_device(queue, x))

RESULTS = {"y": y.get(), "shape": list(M_arg.shape)}
EXPECTED = {"y": M @ x, "shape": [3, 4, 3, 4]}
