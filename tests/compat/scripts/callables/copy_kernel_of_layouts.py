"""Changes the layout of a field by make_copy_kernel: C order to Fortran order."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_copy_kernel("f,f", old_dim_tags="c,c")
knl = lp.add_dtypes(knl, {"input": np.float64})
knl = lp.split_iname(knl, "i0", 4, inner_tag="l.0", outer_tag="g.0")

field = np.random.default_rng(10).normal(size=(13, 9))
evt, (copied,) = knl(queue, input=cl.array.to_device(queue, field))

RESULTS = {
    "values": copied.get(),
    "strides": [int(stride) // 8 for stride in copied.strides],
}
EXPECTED = {"values": field, "strides": [1, 13]}
