"""Whether any and whether all elements of each row hold, and how many do."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(160)
a = rng.normal(size=(12, 4))
a[3] = abs(a[3])
a[7] = -abs(a[7])

knl = lp.make_kernel(
    "{ [i,j,k,l]: 0<=i<m and 0<=j,k,l<n }",
    """
    some[i] = any(j, a[i,j] > 0)
    every[i] = all(k, a[i,k] > 0)
    number[i] = sum(l, 1 if a[i,l] > 0 else 0)
    """,
    [
        lp.GlobalArg("a", np.float64, shape="m,n"),
        lp.GlobalArg("some,every,number", np.int32, shape="m"),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.split_iname(lp.assume(knl, "m>=1"), "i", 4, outer_tag="g.0", inner_tag="l.0")
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {name: out[name].get() for name in ("some", "every", "number")}
EXPECTED = {
    "some": (a > 0).any(axis=1),
    "every": (a > 0).all(axis=1),
    "number": (a > 0).sum(axis=1),
}
