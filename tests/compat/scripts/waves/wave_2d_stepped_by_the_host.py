"""The 2D wave equation: one kernel per step, three buffers that the host turns round."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 1<=i<nx-1 and 1<=j<ny-1 }",
    """
    lap(a, b) := u[a-1,b] + u[a+1,b] + u[a,b-1] + u[a,b+1] - 4*u[a,b]
    u_next[i,j] = 2*u[i,j] - u_prev[i,j] + lam*lap(i, j)
    """,
    [
        lp.GlobalArg("u,u_prev,u_next", np.float64, shape="nx,ny"),
        lp.ValueArg("lam", np.float64),
        lp.ValueArg("nx,ny", np.int32),
    ],
    name="wave_step",
    assumptions="nx>=3 and ny>=3",
)
knl = lp.expand_subst(knl)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
shape = (19, 35)
start = np.zeros(shape)
start[9, 17] = 1
prev, now, following = (cl.array.to_device(queue, start * f) for f in (1, 1, 0))
for _ in range(11):
    knl(queue, u=now, u_prev=prev, u_next=following, lam=0.25)
    prev, now, following = now, following, prev

p, q = start.copy(), start.copy()
for _ in range(11):
    r = np.zeros(shape)
    lap = q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - 4 * q[1:-1, 1:-1]
    r[1:-1, 1:-1] = 2 * q[1:-1, 1:-1] - p[1:-1, 1:-1] + 0.25 * lap
    p, q = q, r
RESULTS = {"after eleven steps": now.get()}
EXPECTED = {"after eleven steps": q}
