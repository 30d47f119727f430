"""An axpy whose tiles are split again: two levels of split_iname, unrolled inside, chunks."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
base = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "z[i] = a*x[i] + b*y[i]",
    [
        lp.ValueArg("a,b", np.float32),
        lp.GlobalArg("x,y,z", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    name="axpby",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(base, "i", 64, outer_tag="g.0", slabs=(0, 1))
knl = lp.split_iname(knl, "i_inner", 4, outer_tag="l.0", inner_tag="unr")
chunked = lp.chunk_iname(base, "i", 3, outer_tag="g.0")
renamed = lp.split_iname(
    base, "i", 16, outer_iname="block", inner_iname="lane", outer_tag="g.0", inner_tag="l.0"
)
rng = np.random.default_rng(31)
x, y = rng.random((2, 333)).astype(np.float32)
RESULTS, EXPECTED = {}, {}
for what, kernel in (("two levels", knl), ("chunks", chunked), ("named", renamed)):
    evt, (z,) = kernel(
        queue, a=5, b=7, x=cl.array.to_device(queue, x), y=cl.array.to_device(queue, y)
    )
    RESULTS[what] = z.get()
    EXPECTED[what] = 5 * x + 7 * y
RESULTS["inames"] = sorted(renamed.default_entrypoint.all_inames())
EXPECTED["inames"] = ["block", "lane"]
