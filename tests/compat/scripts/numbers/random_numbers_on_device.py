"""Philox random numbers in the kernel: are they in [0, 1), of the right mean, reproducible?"""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    for i
        <> key2 = make_uint2(i, 324830944) {inames=i}
        <> ctr = make_uint4(0, 1, 2, 3)  {inames=i, id=init_ctr}
        <> vals, ctr = philox4x32_f64(ctr, key2)  {dep=init_ctr}
        out[i, 0] = vals.s0
        out[i, 1] = vals.s1
        out[i, 2] = vals.s2
        out[i, 3] = vals.s3
    end
    """,
    [lp.GlobalArg("out", np.float64, shape=("n", 4)), lp.ValueArg("n", np.int32)],
    assumptions="n >= 1",
    lang_version=(2018, 2),
)
evt, (first,) = knl(queue, n=1500)
evt, (second,) = knl(queue, n=1500)
numbers = first.get()

RESULTS = {
    "in range": bool((numbers >= 0).all() and (numbers < 1).all()),
    "mean": abs(numbers.mean() - 0.5) < 0.02,
    "variance": abs(numbers.var() - 1 / 12) < 0.01,
    "different": len(np.unique(numbers)) == numbers.size,
    "again": bool((second.get() == numbers).all()),
}
EXPECTED = dict.fromkeys(("in range", "mean", "variance", "different", "again"), True)
