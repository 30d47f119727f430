"""y = alpha*x + y in place on work groups: split_iname with tags, assume, a scalar argument."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "y[i] = alpha*x[i] + y[i]",
    [
        lp.ValueArg("alpha", np.float32),
        lp.GlobalArg("x", np.float32, shape="n"),
        lp.GlobalArg("y", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    name="saxpy",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n >= 1")
knl = lp.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(1)
RESULTS = {}
EXPECTED = {}
for n in (1, 127, 128, 1009):
    x = rng.normal(size=n).astype(np.float32)
    y = rng.normal(size=n).astype(np.float32)
    x_dev = cl.array.to_device(queue, x)
    y_dev = cl.array.to_device(queue, y)
    knl(queue, alpha=np.float32(1.5), x=x_dev, y=y_dev)
    RESULTS[f"n = {n}"] = y_dev.get()
    EXPECTED[f"n = {n}"] = np.float32(1.5) * x + y
