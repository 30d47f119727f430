"""Parts of one allocation as arguments: offset=lp.auto, results into a part as well."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "dst[i] = src[i]*src[i] + i",
    [
        lp.GlobalArg("src", np.float64, shape="n", offset=lp.auto),
        lp.GlobalArg("dst", np.float64, shape="n", offset=lp.auto),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")

pool_host = np.random.default_rng(6).normal(size=60)
pool = cl.array.to_device(queue, pool_host)
knl(queue, src=pool[5:24], dst=pool[30:49])

expected = pool_host.copy()
expected[30:49] = pool_host[5:24] ** 2 + np.arange(19)
RESULTS = {"pool": pool.get()}
EXPECTED = {"pool": expected}
