"""Weights summed by bin, each bin by a group whose items add what falls into it, in a tree."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(171)
n, nbins = 256, 9
where = rng.integers(0, nbins, size=n).astype(np.int32)
w = rng.integers(0, 20, size=n).astype(np.float64)

knl = lp.make_kernel(
    "{ [b,i]: 0<=b<nbins and 0<=i<256 }",
    "bins[b] = sum(i, (w[i] if where[i] == b else 0.0))",
    [
        lp.GlobalArg("where", np.int32, shape=256),
        lp.GlobalArg("w", np.float64, shape=256),
        lp.GlobalArg("bins", np.float64, shape="nbins"),
        ...,
    ],
    name="bins",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 32)
knl = lp.split_reduction_inward(knl, "i_outer")
knl = lp.tag_inames(knl, {"b": "g.0"})
knl = lp.tag_inames(knl, {"i_inner": "l.0"})
evt, (bins,) = knl(
    queue,
    where=cl.array.to_device(queue, where),
    w=cl.array.to_device(queue, w),
    bins=cl.array.zeros(queue, nbins, np.float64),
    nbins=nbins,
)

RESULTS = {"bins": bins.get()}
EXPECTED = {"bins": np.bincount(where, weights=w, minlength=nbins)}
