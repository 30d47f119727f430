"""A matrix of distances, tiled both ways with prefetched rows, and tested against the plain one."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(72)
n, m = 48, 32
x = rng.normal(size=(n, 3))
y = rng.normal(size=(m, 3))

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<3 }",
    "d[i,j] = sqrt(sum(k, (x[i,k] - y[j,k])**2))",
    [lp.GlobalArg("x,y", np.float64, shape=lp.auto), ...],
    name="distances",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n mod 16 = 0 and m mod 16 = 0 and n >= 16 and m >= 16")
ref = knl
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.1", inner_tag="l.0")
knl = lp.add_prefetch(
    knl, "x", ["i_inner", "k"], fetch_outer_inames="i_outer,j_outer", default_tag="l.auto"
)
knl = lp.add_prefetch(
    knl, "y", ["j_inner", "k"], fetch_outer_inames="i_outer,j_outer", default_tag="l.auto"
)
lp.auto_test_vs_ref(ref, ctx, knl, parameters={"n": 32, "m": 32}, print_code=False, quiet=True)
evt, (d,) = knl(queue, x=cl.array.to_device(queue, x), y=cl.array.to_device(queue, y))

RESULTS = {"d": d.get()}
EXPECTED = {"d": np.linalg.norm(x[:, None] - y, axis=2)}
