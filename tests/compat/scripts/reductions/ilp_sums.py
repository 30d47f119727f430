"""Sums for four rows at a time, with the inner part of the sum unrolled."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(166)
a = rng.normal(size=(64, 24))

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<m and 0<=k<24 }",
    "out[i] = sum(k, a[i,k]*k)",
    [lp.GlobalArg("a", np.float64, shape="m,24"), "..."],
    assumptions="m mod 32 = 0 and m>=32",
    lang_version=(2018, 2),
)
ref = knl
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0")
knl = lp.split_iname(knl, "i_inner", 8, outer_tag="ilp.unr", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 4, inner_tag="unr")
lp.auto_test_vs_ref(ref, ctx, knl, parameters={"m": 64}, print_code=False, quiet=True)
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get()}
EXPECTED = {"out": a @ np.arange(24)}
