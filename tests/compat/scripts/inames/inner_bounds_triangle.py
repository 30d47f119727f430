"""A triangular loop in a parallel one: bounds of the inner depend on the parts of the outer."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(90)
n = 27
a = rng.normal(size=(n, n))
x = rng.normal(size=n)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<=i }",
    "y[i] = sum(j, a[i,j]*x[j])",
    [
        lp.GlobalArg("a", np.float64, shape="n,n"),
        lp.GlobalArg("x,y", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    name="lower",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
before = lp.has_schedulable_iname_nesting(knl)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
evt, (y,) = knl(queue, a=cl.array.to_device(queue, a), x=cl.array.to_device(queue, x))

RESULTS = {"y": y.get(), "schedulable": before}
EXPECTED = {"y": np.tril(a) @ x, "schedulable": True}
