"""Linear interpolation in a table whose cell is computed from each value, and clamped."""

import loopy as lp
import numpy as np
import pyopencl as cl
from pyopencl.array import to_device

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(50)
table = np.cos(np.linspace(0, 3, 33))
x = rng.uniform(-0.2, 3.2, size=211)

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> scaled = fmin(fmax(x[i], lo), hi) - lo
    <> s = scaled * (m-1) / (hi-lo)
    <int32> cell = fmin(floor(s), m-2.0)
    <> frac = s - cell
    y[i] = (1-frac)*table[cell] + frac*table[cell+1]
    """,
    [
        lp.ConstantArg("table", np.float64, shape="m"),
        lp.ValueArg("lo,hi", np.float64),
        lp.ValueArg("m", np.int32),
        ...,
    ],
    lang_version=(2018, 2),
    silenced_warnings=["v1_scheduler_fallback"],
)
knl = lp.split_iname(knl, "i", 4, inner_tag="ilp")
knl = lp.split_iname(knl, "i_outer", 16, outer_tag="g.0", inner_tag="l.0")
evt, (y,) = knl(
    queue,
    x=to_device(queue, x),
    table=to_device(queue, table),
    lo=0.0,
    hi=3.0,
    m=table.size,
)

RESULTS = {"y": y.get()}
EXPECTED = {"y": np.interp(np.clip(x, 0, 3), np.linspace(0, 3, 33), table)}
