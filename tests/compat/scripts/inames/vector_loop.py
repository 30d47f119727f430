"""A loop of length four as vectors: the arrays get a vector axis with it."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(86)
a, b = rng.normal(size=(2, 64)).astype(np.float32)

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "c[i] = 2*a[i] + b[i]",
    [
        lp.GlobalArg("a,b,c", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    name="vectors",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n mod 4 = 0 and n>=4")
knl = lp.split_array_dim(knl, [("a", 0), ("b", 0), ("c", 0)], 4)
knl = lp.tag_array_axes(knl, "a,b,c", "C,vec")
knl = lp.tag_inames(knl, {"i_inner": "vec", "i_outer": "g.0"})
code = lp.generate_code_v2(knl).device_code()
evt, (c,) = knl(
    queue,
    a=cl.array.to_device(queue, a.reshape(16, 4)),
    b=cl.array.to_device(queue, b.reshape(16, 4)),
    c=cl.array.to_device(queue, b.reshape(16, 4)),
    n=64,
)

RESULTS = {"c": c.get().ravel(), "float4": "float4" in code}
EXPECTED = {"c": 2 * a + b, "float4": True}
