"""Jacobi's iteration for a diagonally dominant system, the diagonal left out by a condition."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(110)
n = 31
a = rng.uniform(-1, 1, size=(n, n)) / n + 2 * np.eye(n)
b = rng.normal(size=n)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    "xnew[i] = (b[i] - sum(j, if(j != i, a[i,j]*x[j], 0)))/a[i,i]",
    [
        lp.GlobalArg("a", np.float64, shape="n,n"),
        lp.GlobalArg("x,b,xnew", np.float64, shape="n"),
        ...,
    ],
    name="jacobi",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.assume(knl, "n >= 1")
a_dev, b_dev = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
x = cl.array.zeros(queue, n, np.float64)
for _sweep in range(20):
    evt, (x,) = knl(queue, a=a_dev, b=b_dev, x=x)

RESULTS = {"x": x.get()}
EXPECTED = {"x": np.linalg.solve(a, b)}
