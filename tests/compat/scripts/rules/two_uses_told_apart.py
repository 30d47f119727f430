"""Prefetches only one of two uses of an array: tagged names, `u$here` and `u$there`."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<32 }",
    "out[i, j] = 2*u$here[i, j] - u$there[j, i]",
    [lp.GlobalArg("u, out", np.float32, shape=(32, 32))],
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.0")
knl = lp.add_prefetch(
    knl, "u$there", ["i_inner", "j_inner"], temporary_name="u_t", default_tag="l.auto"
)
lp.auto_test_vs_ref(ref_knl, ctx, knl, print_code=False, warmup_rounds=1)

u = np.random.default_rng(22).normal(size=(32, 32)).astype(np.float32)
evt, (out,) = knl(queue, u=cl.array.to_device(queue, u))

RESULTS = {"out": out.get(), "fetched": list(knl.default_entrypoint.temporary_variables)}
EXPECTED = {"out": 2 * u - u.T, "fetched": ["u_t"]}
