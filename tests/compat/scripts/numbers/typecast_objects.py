"""Averages of counters without overflow: TypeCast objects and pymbolic expressions."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from pymbolic import var

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
count, weight, i = var("count"), var("weight"), var("i")
wide = lp.TypeCast(np.int64, count[i])
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [
        lp.Assignment(var("product")[i], wide * wide, id="square"),
        lp.Assignment(var("share")[i], lp.TypeCast(np.float64, count[i]) / weight[i], id="divide"),
    ],
    [
        lp.GlobalArg("count", np.int32, shape="n"),
        lp.GlobalArg("weight, share", np.float64, shape="n"),
        lp.GlobalArg("product", np.int64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)

count = np.array([3, 50000, 2**30, -(2**31) + 1, 77], np.int32)
weight = np.array([2.0, 3.0, 7.0, 1.5, -4.0])
evt, out = knl(
    queue, count=cl.array.to_device(queue, count), weight=cl.array.to_device(queue, weight)
)

RESULTS = {"product": out["product"].get(), "share": out["share"].get()}
EXPECTED = {"product": count.astype(np.int64) ** 2, "share": count / weight}
