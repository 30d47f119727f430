"""Jacobians of triangles as rules, computed once per element and used at all its nodes."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e, q]: 0<=e<nel and 0<=q<6 }",
    """
    dx(m) := vx[e, m] - vx[e, 0]
    dy(m) := vy[e, m] - vy[e, 0]
    jac := dx(1)*dy(2) - dx(2)*dy(1)
    val[e, q] = w[q] * f[e, q] * jac
    """,
    [
        lp.GlobalArg("vx, vy", np.float64, shape=("nel", 3)),
        lp.GlobalArg("f, val", np.float64, shape=("nel", 6)),
        lp.GlobalArg("w", np.float64, shape=(6,)),
        lp.ValueArg("nel", np.int32),
    ],
    assumptions="nel >= 1",
    lang_version=(2018, 2),
)
knl = lp.precompute(knl, "jac", [], temporary_name="det", precompute_outer_inames=frozenset("e"))
knl = lp.prioritize_loops(knl, "e,q")

rng = np.random.default_rng(26)
vx, vy = rng.uniform(size=(2, 13, 3))
f, w = rng.normal(size=(13, 6)), rng.uniform(size=6)
args = {"vx": vx, "vy": vy, "f": f, "w": w}
args = {name: cl.array.to_device(queue, value) for name, value in args.items()}
evt, (val,) = knl(queue, **args)

det = (vx[:, 1] - vx[:, 0]) * (vy[:, 2] - vy[:, 0]) - (vx[:, 2] - vx[:, 0]) * (vy[:, 1] - vy[:, 0])
RESULTS = {"val": val.get()}
EXPECTED = {"val": w * f * det[:, None]}
