"""A sum whose parts are computed by the work items of a group, in a tree through local memory."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(141)
a = rng.integers(-50, 50, size=(19, 64)).astype(np.int32)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<m and 0<=j<64 }",
    "out[i] = sum(j, a[i,j])",
    [lp.GlobalArg("a", np.int32, shape="m,64"), ...],
    name="tree",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "m>=1")
knl = lp.tag_inames(knl, {"i": "g.0", "j": "l.0"})
code = lp.generate_code_v2(knl).device_code()
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get(), "local memory": "__local" in code, "barrier": "barrier(" in code}
EXPECTED = {"out": a.sum(axis=1), "local memory": True, "barrier": True}
