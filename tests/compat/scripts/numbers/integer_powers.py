"""Powers with whole, negative and broken exponents, of floats and of integers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    cubes[i] = x[i]**3
    inverse[i] = x[i]**(-2)
    roots[i] = x[i]**0.5
    bases[i] = 2.0**k[i]
    squares[i] = k[i]**2
    """,
    [
        lp.GlobalArg("x, cubes, inverse, roots, bases", np.float64, shape="n"),
        lp.GlobalArg("k, squares", np.int32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)

x = np.linspace(0.5, 3, 26)
k = np.arange(-5, 21, dtype=np.int32)
evt, out = knl(queue, x=cl.array.to_device(queue, x), k=cl.array.to_device(queue, k))

RESULTS = {name: value.get() for name, value in out.items()}
EXPECTED = {
    "cubes": x**3,
    "inverse": x**-2.0,
    "roots": np.sqrt(x),
    "bases": 2.0**k,
    "squares": k**2,
}
