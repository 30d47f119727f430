"""Rows of an argument padded: add_padding; what is passed has rows that long."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<10 }",
    "y[i] = sum(j, a[i, j]*x[j])",
    [
        lp.GlobalArg("a", np.float32, shape=("n", 10)),
        lp.GlobalArg("x", np.float32, shape=(10,)),
        lp.GlobalArg("y", np.float32, shape=("n",)),
        ...,
    ],
    lang_version=(2018, 2),
)
knl = lp.add_padding(knl, "a", axis=0, align_bytes=64)
knl = lp.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(4)
row_length = int(knl.default_entrypoint.arg_dict["a"].dim_tags[0].stride)
rows = np.zeros((15, row_length), np.float32)
rows[:, :10] = rng.normal(size=(15, 10))
x = rng.normal(size=10).astype(np.float32)
rows_dev = cl.array.to_device(queue, rows)
evt, (y,) = knl(queue, a=rows_dev[:, :10], x=cl.array.to_device(queue, x))

RESULTS = {"y": y.get(), "aligned": row_length * 4 % 64}
EXPECTED = {"y": rows[:, :10] @ x, "aligned": 0}
