"""Periodic indices and floor division of numbers that may be negative: // and % as in Python."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    quotient[i] = (a[i] - 10) // 7
    remainder[i] = (a[i] - 10) % 7
    wrapped[i] = ring[(i - 3) % 11]
    """,
    [
        lp.GlobalArg("a, quotient, remainder", np.int32, shape="n"),
        lp.GlobalArg("ring", np.float32, shape=(11,)),
        lp.GlobalArg("wrapped", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 1",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)

a = np.arange(-8, 26, dtype=np.int32)
ring = np.random.default_rng(4).uniform(size=11).astype(np.float32)
evt, out = knl(queue, a=cl.array.to_device(queue, a), ring=cl.array.to_device(queue, ring))

RESULTS = {name: out[name].get() for name in ("quotient", "remainder", "wrapped")}
EXPECTED = {
    "quotient": (a - 10) // 7,
    "remainder": (a - 10) % 7,
    "wrapped": ring[(np.arange(34) - 3) % 11],
}
