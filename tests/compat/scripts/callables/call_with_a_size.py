"""A function with a parametric size, which is passed as a number: prefix norms."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
norm = lp.make_function(
    "{ [i]: 0<=i<m }",
    "r[0] = sqrt(sum(i, v[i]*v[i]))",
    [
        lp.ValueArg("m", np.int32),
        lp.GlobalArg("v", np.float64, shape=("m",)),
        lp.GlobalArg("r", np.float64, shape=(1,)),
    ],
    name="norm",
)
knl = lp.make_kernel(
    "{ [k, i, z]: 0<=k<rows and 0<=i<n and 0<=z<1 }",
    "for k\n [z]: out[k+z] = norm(n, [i]: M[k, i])\n end",
    [
        lp.GlobalArg("M", np.float64, shape=("rows", "n")),
        lp.GlobalArg("out", np.float64, shape=("rows",)),
        lp.ValueArg("rows, n", np.int32),
    ],
    assumptions="rows > 0 and n > 0",
)
knl = lp.merge([knl, norm])

M = np.random.default_rng(6).normal(size=(14, 31))
evt, (out,) = knl(queue, M=cl.array.to_device(queue, M))

RESULTS = {"out": out.get()}
EXPECTED = {"out": np.linalg.norm(M, axis=1)}
