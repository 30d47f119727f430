"""Prefix sums, inclusive ones as a scan that the kernel realizes, exclusive ones as plain sums."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(148)
n = 29
a = rng.integers(0, 10, size=n).astype(np.int32)

knl = lp.make_kernel(
    "[n] -> { [i,j]: 0<=i<n and 0<=j<=i }",
    "prefix[i] = sum(j, a[j])",
    [lp.GlobalArg("a,prefix", np.int32, shape="n"), "..."],
    name="scan",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, n=n)
scan = lp.realize_reduction(knl, force_scan=True)
evt, (prefix,) = scan(queue, a=cl.array.to_device(queue, a))
evt, (plain,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"scan": prefix.get(), "plain": plain.get()}
EXPECTED = {"scan": np.cumsum(a), "plain": np.cumsum(a)}
