"""A rule that holds a sum: rows' means are precomputed, then every entry is centered."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i<m and 0<=j,k<n }",
    """
    mean(r) := sum(k, data[r, k]) / n
    centered[i, j] = data[i, j] - mean(i)
    """,
    [
        lp.GlobalArg("data, centered", np.float64, shape=("m", "n")),
        lp.ValueArg("m, n", np.int32),
    ],
    assumptions="m >= 1 and n >= 1",
    lang_version=(2018, 2),
)
knl = lp.precompute(knl, "mean", [], temporary_name="mean_of_row", within="writes:centered")
knl = lp.prioritize_loops(knl, "i,j")

data = np.random.default_rng(19).normal(size=(9, 14))
evt, (centered,) = knl(queue, data=cl.array.to_device(queue, data))

RESULTS = {"centered": centered.get()}
EXPECTED = {"centered": data - data.mean(axis=1)[:, None]}
