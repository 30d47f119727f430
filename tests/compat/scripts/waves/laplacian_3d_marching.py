"""A 3D Laplacian on planes of work items that march along z: priorities, unrolled inner steps."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [x,y,z]: 0<=x<nx and 0<=y<ny and 0<=z<nz }",
    """
    out[x,y,z] = f[x,y+1,z+1] + f[x+2,y+1,z+1] + f[x+1,y,z+1] + f[x+1,y+2,z+1] \
        + f[x+1,y+1,z] + f[x+1,y+1,z+2] - 6*f[x+1,y+1,z+1]
    """,
    [
        lp.GlobalArg("f", np.float32, shape="nx+2,ny+2,nz+2"),
        lp.GlobalArg("out", np.float32, shape="nx,ny,nz"),
        lp.ValueArg("nx,ny,nz", np.int32),
    ],
    name="laplace3d",
    assumptions="nx>=1 and ny>=1 and nz>=1",
)
knl = lp.split_iname(knl, "y", 4, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "z", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "x", 2, inner_tag="unr")
knl = lp.prioritize_loops(knl, "x_outer,x_inner")
f = np.random.default_rng(46).random((9, 11, 22)).astype(np.float32)
evt, (out,) = knl(queue, f=cl.array.to_device(queue, f))

mid = slice(1, -1)
RESULTS = {"laplacian": out.get()}
EXPECTED = {
    "laplacian": f[:-2, mid, mid]
    + f[2:, mid, mid]
    + f[mid, :-2, mid]
    + f[mid, 2:, mid]
    + f[mid, mid, :-2]
    + f[mid, mid, 2:]
    - 6 * f[mid, mid, mid]
}
