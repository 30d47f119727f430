"""Rows of a matrix times a vector, each sum shared by a group: split_reduction_outward, l.0."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import LocalInameTag

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "y[i] = sum(j, a[i,j]*x[j])",
    [
        lp.GlobalArg("a", np.float64, shape="n,m"),
        lp.GlobalArg("x", np.float64, shape="m"),
        lp.GlobalArg("y", np.float64, shape="n"),
        "...",
    ],
    name="matvec",
    assumptions="n>=1 and m>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "j", 32, inner_tag="l.0")
shared = lp.split_reduction_outward(knl, "j_inner")
shared = lp.tag_inames(shared, {"i": "g.0"})
inward = lp.for_each_kernel(lp.untag_inames)(knl, "j_inner", LocalInameTag)
inward = lp.split_iname(inward, "i", 8)
inward = lp.split_reduction_inward(inward, "j_inner")
rng = np.random.default_rng(26)
a, x = rng.normal(size=(23, 97)), rng.normal(size=97)
evt, (y,) = shared(queue, a=a, x=x)
evt, (y_inward,) = inward(queue, a=a, x=x)

RESULTS = {"by groups": y, "inward": y_inward}
EXPECTED = {"by groups": a @ x, "inward": a @ x}
