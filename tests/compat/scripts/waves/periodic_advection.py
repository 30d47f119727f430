"""Upwind advection round a ring: remainders in subscripts, a conditional."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> west = (i + n - 1) % n
    <> east = (i + 1) % n
    <> slope = if(speed > 0, u[i] - u[west], u[east] - u[i])
    u_new[i] = u[i] - dt_over_dx*speed*slope
    """,
    [
        lp.GlobalArg("u,u_new", np.float64, shape="n"),
        lp.ValueArg("speed,dt_over_dx", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="upwind",
    assumptions="n>=1",
)
knl = lp.set_options(knl, enforce_array_accesses_within_bounds=False)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
u = np.random.default_rng(41).random(53)
RESULTS, EXPECTED = {}, {}
for speed in (1.0, -0.7):
    evt, (new,) = knl(queue, u=cl.array.to_device(queue, u), speed=speed, dt_over_dx=0.5)
    RESULTS[f"speed {speed}"] = new.get()
    slope = u - np.roll(u, 1) if speed > 0 else np.roll(u, -1) - u
    EXPECTED[f"speed {speed}"] = u - 0.5 * speed * slope
