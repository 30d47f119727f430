"""A five-point stencil, whose tile with its halo is fetched whole: fetch_bounding_box=True."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
n = 24
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<24 }",
    """
    lap[i, j] = -4*u[i+1, j+1] + (
        u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2])
    """,
    [lp.GlobalArg("u", np.float32, shape=(n + 2, n + 2)), lp.GlobalArg("lap", shape=(n, n))],
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.add_prefetch(
    knl, "u", ["i_inner", "j_inner"], fetch_bounding_box=True, default_tag="l.auto"
)
(tile,) = knl.default_entrypoint.temporary_variables.values()

u = np.random.default_rng(6).normal(size=(26, 26)).astype(np.float32)
evt, (lap,) = knl(queue, u=cl.array.to_device(queue, u))

expected = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
RESULTS = {"lap": lap.get(), "tile": list(tile.shape)}
EXPECTED = {"lap": expected, "tile": [10, 10]}
