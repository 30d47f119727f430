"""Upwind fluxes of an advection DG at the ends of intervals: periodic neighbours."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,n]: 0<=e<ne and 0<=n<3 }",
    """
    <> west = (e + ne - 1) % ne
    <> inflow = u[west, 2]
    <> outflow = u[e, 2]
    r[e,n] = (lift[n,0]*a*(inflow - u[e,0]) + lift[n,1]*0*outflow)/h[e]
    """,
    [
        lp.GlobalArg("u,r", np.float32, shape=("ne", 3)),
        lp.GlobalArg("h", np.float32, shape=("ne",)),
        lp.GlobalArg("lift", np.float32, shape=(3, 2)),
        lp.ValueArg("a", np.float32),
        lp.ValueArg("ne", np.int32),
    ],
    name="upwind_flux",
    assumptions="ne>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "e", 16, outer_tag="g.0", inner_tag="l.0", slabs=(0, 1))
rng = np.random.default_rng(76)
u, h, lift = (rng.random(shape).astype(np.float32) for shape in ((21, 3), (21,), (3, 2)))
evt, (r,) = knl(queue, u=u, h=h + 1, lift=lift, a=np.float32(2))

jump = np.roll(u[:, 2], 1) - u[:, 0]
RESULTS = {"r": r}
EXPECTED = {"r": 2 * jump[:, None] * lift[:, 0] / (h + 1)[:, None]}
