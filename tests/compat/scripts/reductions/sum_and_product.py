"""Sums and products in one kernel, over one iname and over two, with types of their own."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(140)
a = rng.normal(size=(5, 8))
k = rng.integers(1, 4, size=5).astype(np.int32)

knl = lp.make_kernel(
    "{ [i,j,i2,j2,p]: 0<=i,i2,p<m and 0<=j,j2<n }",
    """
    total = reduce(sum, (i,j), a[i,j])
    row[i2] = sum(j2, a[i2,j2]**2)
    fact = product(p, k[p])
    """,
    [
        lp.GlobalArg("total", np.float64, shape=()),
        lp.GlobalArg("fact", np.int32, shape=()),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"a": np.float64, "k": np.int32})
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, a=cl.array.to_device(queue, a), k=cl.array.to_device(queue, k))

RESULTS = {name: out[name].get() for name in ("total", "row", "fact")}
EXPECTED = {
    "total": np.array(a.sum()),
    "row": (a**2).sum(axis=1),
    "fact": np.array(k.prod()),
}
