"""A substitution rule in the instructions' text, used twice with different arguments."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    """
    flux(k) := 0.5*u[k]*u[k]
    du[i] = flux(i+1) - flux(i-1)
    """,
    [lp.GlobalArg("u, du", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    assumptions="n >= 3",
    lang_version=(2018, 2),
)
u = np.random.default_rng(1).normal(size=53)
du = cl.array.zeros(queue, 53, np.float64)
knl(queue, u=cl.array.to_device(queue, u), du=du)

expected = np.zeros(53)
expected[1:-1] = 0.5 * (u[2:] ** 2 - u[:-2] ** 2)
RESULTS = {"du": du.get()}
EXPECTED = {"du": expected}
