"""A table of squared distances per tile of pairs, precomputed from a rule of two arguments."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, d]: 0<=i<n and 0<=j<n and 0<=d<3 }",
    """
    dist2(a, b) := sum(d, (x[a, d] - x[b, d])**2)
    kern[i, j] = 1/(1 + dist2(i, j)) + exp(-dist2(i, j))
    """,
    [
        lp.GlobalArg("x", np.float64, shape=("n", 3)),
        lp.GlobalArg("kern", np.float64, shape=("n", "n")),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 4, outer_tag="g.0")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.0")
knl = lp.precompute(
    knl,
    "dist2",
    "i_inner",
    precompute_outer_inames=frozenset(["i_outer", "j_outer", "j_inner"]),
    temporary_name="d2",
    default_tag="unr",
)

x = np.random.default_rng(20).normal(size=(18, 3))
evt, (kern,) = knl(queue, x=cl.array.to_device(queue, x))

d2 = ((x[:, None] - x[None, :]) ** 2).sum(-1)
RESULTS = {"kern": kern.get(), "d2": list(knl.default_entrypoint.temporary_variables["d2"].shape)}
EXPECTED = {"kern": 1 / (1 + d2) + np.exp(-d2), "d2": [4]}
