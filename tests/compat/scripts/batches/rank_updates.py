"""Rank-one and rank-two updates of each matrix of a batch, the batch in fours at once."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(131)
nb, n = 16, 6
a = rng.normal(size=(nb, n, n)).astype(np.float32)
x, y = rng.normal(size=(2, nb, n)).astype(np.float32)

knl = lp.make_kernel(
    "{ [b,i,j]: 0<=b<nb and 0<=i,j<n }",
    """
    one[b,i,j] = a[b,i,j] + alpha*x[b,i]*y[b,j]
    two[b,i,j] = a[b,i,j] + alpha*(x[b,i]*y[b,j] + y[b,i]*x[b,j])
    """,
    [
        lp.GlobalArg("a,one,two", np.float32, shape="nb,n,n"),
        lp.GlobalArg("x,y", np.float32, shape="nb,n"),
        lp.ValueArg("alpha", np.float32),
        ...,
    ],
    assumptions="nb mod 4 = 0 and nb>=4",
)
knl = lp.fix_parameters(knl, n=n)
knl = lp.split_iname(knl, "b", 4, outer_tag="g.0", inner_tag="ilp")
knl = lp.tag_inames(knl, {"i": "l.1", "j": "l.0"})
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    queue,
    a=cl.array.to_device(queue, a),
    x=cl.array.to_device(queue, x),
    y=cl.array.to_device(queue, y),
    alpha=0.25,
)

outer = np.einsum("bi,bj->bij", x, y)
RESULTS = {"one": out["one"].get(), "two": out["two"].get()}
EXPECTED = {"one": a + outer / 4, "two": a + (outer + outer.transpose(0, 2, 1)) / 4}
