"""Slabs at both ends of a split loop: the sweep runs for sizes that do not divide by the tile."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    "out[i] = (a[i-1] + a[i] + a[i+1]) / 3",
    [
        lp.GlobalArg("a", np.float64, shape="n"),
        lp.GlobalArg("out", np.float64, shape="n"),
        "...",
    ],
    assumptions="n>=3",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, slabs=(1, 1), inner_tag="unr")
RESULTS, EXPECTED = {}, {}
for n in (3, 8, 9, 40, 41):
    a = np.random.default_rng(n).normal(size=n)
    evt, (out,) = knl(queue, a=cl.array.to_device(queue, a), out=cl.array.zeros(queue, n, float))
    RESULTS[f"n={n}"] = out.get()
    EXPECTED[f"n={n}"] = np.pad((a[:-2] + a[1:-1] + a[2:]) / 3, 1)
