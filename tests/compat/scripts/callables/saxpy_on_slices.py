"""A function for axpy, called with whole vectors as slices: make_function, merge, a[:]."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
n = 37
axpy = lp.make_function(
    "{ [i]: 0<=i<37 }",
    "z[i] = alpha*x[i] + y[i]",
    [
        lp.ValueArg("alpha", np.float32),
        lp.GlobalArg("x, y, z", np.float32, shape=(n,)),
    ],
    name="axpy",
    lang_version=(2018, 2),
)
caller = lp.make_kernel(
    "{ : }",
    "out[:] = axpy(2.5f, a[:], b[:])",
    [lp.GlobalArg("a, b", np.float32, shape=(n,)), lp.GlobalArg("out", np.float32, shape=(n,))],
    lang_version=(2018, 2),
)
prog = lp.merge([caller, axpy])

rng = np.random.default_rng(3)
a = rng.normal(size=n).astype(np.float32)
b = rng.normal(size=n).astype(np.float32)
evt, (out,) = prog(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

RESULTS = {"out": out.get()}
EXPECTED = {"out": np.float32(2.5) * a + b}
