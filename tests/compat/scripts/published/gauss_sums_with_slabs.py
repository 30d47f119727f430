"""A weighted sum of Gaussians at points, as in the paper on user-guided code: tiles of sources."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [t,s]: 0<=t<ntargets and 0<=s<nsources }",
    """
    distance2 := (x[t] - y[s])**2
    pot[t] = sum(s, w[s]*exp(-distance2/(2*sigma*sigma)))
    """,
    [
        lp.GlobalArg("x,pot", np.float64, shape="ntargets"),
        lp.GlobalArg("y,w", np.float64, shape="nsources"),
        lp.ValueArg("sigma", np.float64),
        "...",
    ],
    name="gauss_transform",
    assumptions="ntargets>=1 and nsources>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "t", 32, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "s", 32)
knl = lp.expand_subst(knl)
knl = lp.add_prefetch(
    knl,
    "y",
    ["s_inner"],
    fetch_outer_inames="t_outer,s_outer",
    default_tag="l.auto",
    fetch_bounding_box=True,
)
rng = np.random.default_rng(30)
x, y, w = rng.random(41), rng.random(71), rng.normal(size=71)
evt, (pot,) = knl(queue, x=x, y=y, w=w, sigma=0.2)

RESULTS = {"potential": pot}
EXPECTED = {"potential": np.exp(-((x[:, None] - y) ** 2) / (2 * 0.2**2)) @ w}
