"""Steepest slopes in windows of a wave: max reductions over a window, and over the whole."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,w,k]: 0<=i<n-4 and 0<=w<4 and 0<=k<n-1 }",
    """
    slope(p) := fabs(u[p+1] - u[p])
    steepest[i] = max(w, slope(i + w))
    flattest[i] = min(w, slope(i + w))
    overall = max(k, slope(k))
    """,
    [
        lp.GlobalArg("u", np.float32, shape="n"),
        lp.GlobalArg("steepest,flattest", np.float32, shape="n-4"),
        lp.GlobalArg("overall", np.float32, shape=()),
        lp.ValueArg("n", np.int32),
    ],
    name="slopes",
    assumptions="n>=5",
    options="return_dict",
    lang_version=(2018, 2),
)
knl = lp.make_reduction_inames_unique(knl)
u = np.random.default_rng(57).normal(size=38).astype(np.float32)
evt, found = knl(queue, u=cl.array.to_device(queue, u))

slope = np.abs(np.diff(u))
windows = np.lib.stride_tricks.sliding_window_view(slope, 4)[: len(u) - 4]
RESULTS = {name: found[name].get() for name in ("steepest", "flattest", "overall")}
EXPECTED = {
    "steepest": windows.max(axis=1),
    "flattest": windows.min(axis=1),
    "overall": slope.max(),
}
