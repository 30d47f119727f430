"""Arrays of vectors of four: fixed_parameters, tag_array_axes and an iname tagged vec."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,c]: 0<=i<n and 0<=c<width }",
    "out[i,c] = 2*a[i,c] + b[i,c]",
    [lp.GlobalArg("a,b,out", np.float32, shape=("n", 4)), "..."],
    fixed_parameters={"width": 4},
    name="vectors",
)
knl = lp.tag_inames(knl, {"c": "vec"})
knl = lp.tag_array_axes(knl, "a,b,out", "C,vec")
knl = lp.assume(knl, "n >= 1")
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(9)
a = rng.random((15, 4)).astype(np.float32)
b = rng.random((15, 4)).astype(np.float32)

a_dev = cl.array.to_device(queue, a)
b_dev = cl.array.to_device(queue, b)
evt, (out,) = knl(queue, a=a_dev, b=b_dev)

RESULTS = {"sums": out.get()}
EXPECTED = {"sums": 2 * a + b}
