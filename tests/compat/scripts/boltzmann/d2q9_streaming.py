"""Pull streaming on a periodic D2Q9 lattice: remainders of shifted subscripts."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [q,x,y]: 0<=q<9 and 0<=x<nx and 0<=y<ny }",
    "g[q,x,y] = f[q, (x + nx - cx[q]) % nx, (y + ny - cy[q]) % ny]",
    [
        lp.GlobalArg("f,g", np.float32, shape=(9, "nx", "ny")),
        lp.GlobalArg("cx,cy", np.int32, shape=(9,)),
        lp.ValueArg("nx,ny", np.int32),
    ],
    name="stream",
    assumptions="nx>=1 and ny>=1",
)
knl = lp.tag_inames(knl, {"q": "g.2"})
knl = lp.split_iname(knl, "x", 4, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "y", 8, outer_tag="g.0", inner_tag="l.0")
cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], dtype=np.int32)
cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], dtype=np.int32)
f = np.random.default_rng(93).random((9, 11, 13)).astype(np.float32)
evt, (g,) = knl(
    queue,
    f=cl.array.to_device(queue, f),
    cx=cl.array.to_device(queue, cx),
    cy=cl.array.to_device(queue, cy),
)

RESULTS = {"streamed": g.get()}
EXPECTED = {"streamed": np.stack([np.roll(f[q], (cx[q], cy[q]), axis=(0, 1)) for q in range(9)])}
