"""Particles counted in the cells of a grid, and their starts by a sum over earlier cells."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(66)
n, nx, ny = 203, 5, 7
pos = rng.random((n, 2))

count = lp.make_kernel(
    "{ [p]: 0<=p<n }",
    """
    <int32> cx = pos[p,0]*nx
    <int32> cy = pos[p,1]*ny
    cell[p] = cx*ny + cy
    num[cx*ny + cy] = num[cx*ny + cy] + 1 {atomic}
    """,
    [
        lp.GlobalArg("num", np.int32, shape="nx*ny", for_atomic=True),
        lp.GlobalArg("cell", np.int32, shape="n"),
        lp.ValueArg("nx,ny", np.int32),
        "...",
    ],
    name="count_cells",
    lang_version=(2018, 2),
)
count = lp.split_iname(count, "p", 32, outer_tag="g.0", inner_tag="l.0")
evt, (num, cell) = count(
    queue,
    pos=cl.array.to_device(queue, pos),
    num=cl.array.zeros(queue, nx * ny, np.int32),
    nx=nx,
    ny=ny,
)
offsets = lp.make_kernel(
    ["{ [c]: 0<=c<=ncells }", "{ [e]: 0<=e<c }"],
    "start[c] = sum(e, num[e])",
    [lp.GlobalArg("num", np.int32, shape="ncells"), "..."],
    name="offsets",
    lang_version=(2018, 2),
)
offsets = lp.tag_inames(offsets, "c:g.0")
evt, (start,) = offsets(queue, num=num)

which = (pos[:, 0] * nx).astype(int) * ny + (pos[:, 1] * ny).astype(int)
counts = np.bincount(which, minlength=nx * ny)
RESULTS = {"cell": cell.get(), "num": num.get(), "start": start.get()}
EXPECTED = {"cell": which, "num": counts, "start": np.concatenate([[0], np.cumsum(counts)])}
