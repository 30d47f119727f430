"""The paper's transformations on a 2D Laplacian: a tile with a halo in local memory."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    "z[i,j] = -2*u[i+1,j+1] + 0.25*(u[i,j+1] + u[i+2,j+1] + u[i+1,j] + u[i+1,j+2])",
    [
        lp.GlobalArg("u", np.float64, shape=("n+2", "n+2")),
        lp.GlobalArg("z", np.float64, shape=("n", "n")),
        lp.ValueArg("n", np.int32),
    ],
    name="stencil",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0")
footprints = lp.add_prefetch(
    knl,
    "u",
    ["i_inner", "j_inner"],
    fetch_bounding_box=True,
    default_tag="l.auto",
    fetch_outer_inames=frozenset(["i_outer", "j_outer"]),
    temporary_name="u_tile",
)
u = np.random.default_rng(35).random((21, 21))
evt, (z,) = footprints(queue, u=u)
evt, (z_plain,) = knl(queue, u=u)
tile = footprints.default_entrypoint.temporary_variables["u_tile"]

mid = u[1:-1, 1:-1]
z_np = -2 * mid + 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
RESULTS = {"tiled": z, "plain": z_plain, "tile": list(tile.shape)}
EXPECTED = {"tiled": z_np, "plain": z_np, "tile": [10, 10]}
