"""Running sums that start anew at flags: a segmented scan, realized as a scan."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

n = 16
values = np.arange(1, n + 1, dtype=np.float32)
flags = np.zeros(n, dtype=np.int32)
flags[[0, 5, 6, 11]] = 1

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<=i }",
    "out[i], <>_ = reduce(segmented(sum), j, (values[j], flags[j]))",
    [
        lp.GlobalArg("values", np.float32, shape=("n",)),
        lp.GlobalArg("flags", np.int32, shape=("n",)),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, n=n)
knl = lp.tag_inames(knl, {"i": "l.0"})
knl = lp.realize_reduction(knl, force_scan=True)
evt, (out,) = knl(
    queue, values=cl.array.to_device(queue, values), flags=cl.array.to_device(queue, flags)
)

expected = np.concatenate([np.cumsum(part) for part in np.split(values, [5, 6, 11])])
RESULTS = {"out": out.get()}
EXPECTED = {"out": expected}
