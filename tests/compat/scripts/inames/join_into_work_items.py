"""Two loops joined to one, which is then split over work items."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(81)
a = rng.normal(size=(12, 7))

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<12 and 0<=j<7 }",
    "out[i,j] = a[i,j]*i - j",
    [lp.GlobalArg("a,out", np.float64, shape=(12, 7))],
    lang_version=(2018, 2),
)
knl = lp.join_inames(knl, ["i", "j"], new_iname="ij")
joined = sorted(knl.default_entrypoint.all_inames())
knl = lp.split_iname(knl, "ij", 16, outer_tag="g.0", inner_tag="l.0")
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get(), "joined": joined}
EXPECTED = {"out": a * np.arange(12)[:, None] - np.arange(7), "joined": ["ij"]}
