"""Polar coordinates of points: one function with two results, called on rows of a table."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
to_polar = lp.make_function(
    "{ [p]: 0<=p<13 }",
    """
    radius[p] = sqrt(x[p]**2 + y[p]**2)
    angle[p] = atan2(y[p], x[p])
    """,
    [
        lp.GlobalArg("x, y", shape=(13,)),
        lp.GlobalArg("radius, angle", shape=(13,)),
    ],
    name="to_polar",
)
knl = lp.make_kernel(
    "{ [p, q, r, s]: 0<=p,q,r,s<13 }",
    "[p]: rad[p], [q]: phi[q] = to_polar([r]: pts[0, r], [s]: pts[1, s])",
    [
        lp.GlobalArg("pts", np.float32, shape=(2, 13)),
        lp.GlobalArg("rad, phi", shape=(13,)),
    ],
    options=lp.Options(return_dict=True),
)
knl = lp.merge([knl, to_polar])

pts = np.random.default_rng(8).uniform(-2, 2, size=(2, 13)).astype(np.float32)
evt, out = knl(queue, pts=cl.array.to_device(queue, pts))

RESULTS = {"rad": out["rad"].get(), "phi": out["phi"].get()}
EXPECTED = {"rad": np.hypot(*pts), "phi": np.arctan2(pts[1], pts[0])}
