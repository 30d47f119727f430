"""A matrix-free stiffness product on intervals: a coloured scatter, one launch for each colour."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "[m,colour] -> { [e,i,j]: 0<=e<m and 0<=i,j<2 }",
    "y[2*e + colour + i] = y[2*e + colour + i] + sum(j, k[i,j]*x[2*e + colour + j])/h",
    [
        lp.GlobalArg("x,y", np.float64, shape="2*m+2"),
        lp.GlobalArg("k", np.float64, shape="2,2"),
        lp.ValueArg("h", np.float64),
        lp.ValueArg("m,colour", np.int32),
    ],
    name="apply_stiffness",
    assumptions="m>=1 and 0<=colour<=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "e", 8, outer_tag="g.0", inner_tag="l.0")
m, h = 19, 0.1
x = np.random.default_rng(68).random(2 * m + 2)
k = np.array([[1.0, -1], [-1, 1]])
y = cl.array.zeros(queue, 2 * m + 2, np.float64)
for colour in (0, 1):
    knl(queue, x=cl.array.to_device(queue, x), y=y, k=k, h=h, m=m, colour=colour)

expected = np.zeros(2 * m + 2)
for e in range(2 * m):
    expected[e : e + 2] += k @ x[e : e + 2] / h

RESULTS = {"y": y.get()}
EXPECTED = {"y": expected}
