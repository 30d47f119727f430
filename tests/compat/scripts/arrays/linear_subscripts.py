"""Entries by their number in memory, a[[...]]: a field of any rank is scaled as one row."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<total }",
    "field[[i]] = factor*field[[i]]",
    [
        lp.GlobalArg("field", np.float64, shape=(6, 7)),
        lp.ValueArg("factor", np.float64),
        lp.ValueArg("total", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "total <= 42")
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")

field = np.random.default_rng(17).normal(size=(6, 7))
field_dev = cl.array.to_device(queue, field)
knl(queue, field=field_dev, factor=-2.0, total=30)

expected = field.copy()
expected.ravel()[:30] *= -2
RESULTS = {"field": field_dev.get()}
EXPECTED = {"field": expected}
