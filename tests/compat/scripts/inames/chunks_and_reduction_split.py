"""A reduction split outward and one split inward, which give the same sums."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(89)
a = rng.integers(-9, 10, size=(8, 60)).astype(np.float64)

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<m and 0<=k<60 }",
    "s[i] = sum(k, a[i,k])",
    [lp.GlobalArg("a", np.float64, shape=("m", 60)), ...],
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "k", 12)
RESULTS = {}
outward = lp.split_reduction_outward(knl, "k_outer")
inward = lp.split_reduction_inward(knl, "k_inner")
for what, split in (("outward", outward), ("inward", inward), ("neither", knl)):
    evt, (s,) = split(queue, a=cl.array.to_device(queue, a))
    RESULTS[what] = s.get()

EXPECTED = {what: a.sum(axis=1) for what in ("outward", "inward", "neither")}
