"""A function of a program under another name: rename_callable after merge."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
shift = lp.make_function(
    "{ [i]: 0<=i<17 }",
    "b[i] = a[i] + 1",
    [lp.GlobalArg("a, b", shape=(17,))],
    name="shift",
)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<17 }",
    "[i]: y[i] = shift([j]: x[j])",
    [lp.GlobalArg("x, y", np.float64, shape=(17,))],
)
knl = lp.merge([knl, shift])
knl = lp.rename_callable(knl, "shift", "increment")

x = np.linspace(-1, 1, 17)
evt, (y,) = knl(queue, x=x)
names = sorted(str(name) for name in knl.callables_table)

RESULTS = {"y": y, "has_new": "increment" in names, "has_old": "shift" in names}
EXPECTED = {"y": x + 1, "has_new": True, "has_old": False}
