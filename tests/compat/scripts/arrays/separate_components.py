"""Velocity components in arrays of their own: tag_array_axes with "sep", the axis unrolled."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, d]: 0<=i<n and 0<=d<3 }",
    "pos[d, i] = pos[d, i] + dt*vel[d, i]",
    [
        lp.GlobalArg("pos", np.float64, shape=(3, "n"), dim_tags="sep,C"),
        lp.GlobalArg("vel", np.float64, shape=(3, "n")),
        lp.ValueArg("dt", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 1",
    lang_version=(2018, 2),
)
knl = lp.tag_array_axes(knl, "vel", "sep,c")
knl = lp.tag_inames(knl, {"d": "unr", "i": "g.0"})

rng = np.random.default_rng(2)
pos, vel = rng.normal(size=(2, 3, 17))
pos_dev = [cl.array.to_device(queue, component) for component in pos]
vel_dev = [cl.array.to_device(queue, component) for component in vel]
knl(queue, pos=pos_dev, vel=vel_dev, dt=0.25)

RESULTS = {"pos": np.array([component.get() for component in pos_dev])}
EXPECTED = {"pos": pos + 0.25 * vel}
