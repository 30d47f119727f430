"""A recurrence per element, four elements at once: the tag ilp, private copies of temporaries."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,t]: 0<=i<n and 0<=t<steps }",
    """
    for i
        <> x = x0[i] {id=start}
        for t
            x = r*x*(1 - x) {id=step, dep=start}
        end
        out[i] = x {id=store, dep=step}
    end
    """,
    [
        lp.GlobalArg("x0,out", np.float64, shape="n"),
        lp.ValueArg("r", np.float64),
        "...",
    ],
    name="logistic",
    assumptions="n mod 4 = 0 and n >= 4 and steps >= 1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 4, inner_tag="ilp")
knl = lp.tag_inames(knl, {"i_outer": "g.0"})
knl = lp.prioritize_loops(knl, "t,i_inner")
x0 = np.random.default_rng(6).random(44)
evt, (out,) = knl(queue, x0=x0, r=3.2, steps=7)

x = x0.copy()
for _ in range(7):
    x = 3.2 * x * (1 - x)
RESULTS = {"iterates": out}
EXPECTED = {"iterates": x}
