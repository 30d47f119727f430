"""A wave on a string with absorbing ends: instructions without a loop beside the loop."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    """
    <> q = (c - 1)/(c + 1) {id=coefficient}
    new[i] = 2*u[i] - old[i] + c*c*(u[i-1] - 2*u[i] + u[i+1]) {id=inside, nosync=left:right}
    new[0] = u[1] + q*(new[1] - u[0]) {id=left, dep=inside:coefficient, nosync=right}
    new[n-1] = u[n-2] + q*(new[n-2] - u[n-1]) {id=right, dep=inside:coefficient, nosync=left}
    """,
    [
        lp.GlobalArg("u,old,new", np.float64, shape="n"),
        lp.ValueArg("c", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="string",
    assumptions="n>=4",
    lang_version=(2018, 2),
)
n, c = 33, 0.9
old = np.exp(-((np.arange(n) - 16.0) ** 2) / 8)
u, new = old.copy(), np.zeros(n)
buffers = [cl.array.to_device(queue, array) for array in (old, u, new)]
for _ in range(20):
    knl(queue, old=buffers[0], u=buffers[1], new=buffers[2], c=c)
    buffers = [*buffers[1:], buffers[0]]

q = (c - 1) / (c + 1)
for _ in range(20):
    new = np.zeros(n)
    new[1:-1] = 2 * u[1:-1] - old[1:-1] + c * c * (u[:-2] - 2 * u[1:-1] + u[2:])
    new[0] = u[1] + q * (new[1] - u[0])
    new[-1] = u[-2] + q * (new[-2] - u[-1])
    old, u = u, new
RESULTS = {"string": buffers[1].get()}
EXPECTED = {"string": u}
