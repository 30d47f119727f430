"""One step of Heun's method for a linear system: the right-hand side is a function."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
rhs = lp.make_function(
    "{ [i, j]: 0<=i,j<12 }",
    "dy[i] = sum(j, L[i, j]*y[j])",
    [
        lp.GlobalArg("L", shape=(12, 12)),
        lp.GlobalArg("y, dy", shape=(12,)),
    ],
    name="rhs",
    lang_version=(2018, 2),
)
step = lp.make_kernel(
    "{ [i, j]: 0<=i,j<12 }",
    """
    k1[:] = rhs(L[:, :], y[:])     {id=stage1}
    mid[i] = y[i] + h*k1[i]        {id=predict, dep=stage1}
    k2[:] = rhs(L[:, :], mid[:])   {id=stage2, dep=predict}
    ynew[j] = y[j] + 0.5*h*(k1[j] + k2[j])  {dep=stage2}
    """,
    [
        lp.ValueArg("h", np.float64),
        lp.GlobalArg("L", np.float64, shape=(12, 12)),
        lp.GlobalArg("y, ynew", np.float64, shape=(12,)),
        lp.TemporaryVariable("k1", np.float64, shape=(12,)),
        lp.TemporaryVariable("k2", np.float64, shape=(12,)),
        lp.TemporaryVariable("mid", np.float64, shape=(12,)),
    ],
    name="heun",
    seq_dependencies=False,
    lang_version=(2018, 2),
)
prog = lp.merge([step, rhs])

rng = np.random.default_rng(31)
L, y = rng.normal(size=(12, 12)), rng.normal(size=12)
evt, (ynew,) = prog(queue, h=0.01, L=cl.array.to_device(queue, L), y=cl.array.to_device(queue, y))

RESULTS = {"ynew": ynew.get()}
EXPECTED = {"ynew": y + 0.005 * (L @ y + L @ (y + 0.01 * (L @ y)))}
