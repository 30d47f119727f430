"""First and second derivatives of fourth order from one tile: prefetch with a footprint by rule."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    d1[i] = (f[i] - 8*f[i+1] + 8*f[i+3] - f[i+4])/(12*h)
    d2[i] = (-f[i] + 16*f[i+1] - 30*f[i+2] + 16*f[i+3] - f[i+4])/(12*h*h)
    """,
    [
        lp.GlobalArg("f", np.float64, shape="n+4"),
        lp.GlobalArg("d1,d2", np.float64, shape="n"),
        lp.ValueArg("h", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="differences",
    assumptions="n>=1 and n mod 16 = 0",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.add_prefetch(
    knl,
    "f",
    ["i_inner"],
    fetch_outer_inames="i_outer",
    default_tag="l.auto",
    temporary_name="f_tile",
)
h = 0.05
f = np.sin(h * np.arange(68))
evt, (d1, d2) = knl(queue, f=f, h=h)
tile = knl.default_entrypoint.temporary_variables["f_tile"]

RESULTS = {"d1": d1, "d2": d2, "tile": list(tile.shape)}
EXPECTED = {
    "d1": (f[:-4] - 8 * f[1:-3] + 8 * f[3:-1] - f[4:]) / (12 * h),
    "d2": (-f[:-4] + 16 * f[1:-3] - 30 * f[2:-2] + 16 * f[3:-1] - f[4:]) / (12 * h * h),
    "tile": [20],
}
