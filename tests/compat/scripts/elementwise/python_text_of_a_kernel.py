"""A kernel written out as Python by t_unit_to_python, made again from that, and run."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    """
    <float64> s = sin(x[i])
    grid[i, j] = s*cos(y[j])
    """,
    [
        lp.GlobalArg("x", np.float64, shape=("n",)),
        lp.GlobalArg("y", np.float64, shape=("m",)),
        lp.GlobalArg("grid", np.float64, shape=("n", "m")),
        lp.ValueArg("n,m", np.int32),
    ],
    name="outer_product",
    lang_version=(2018, 2),
)
x, y = np.linspace(0, 1, 7), np.linspace(2, 3, 5)
evt, (grid,) = knl(queue, x=x, y=y)
text = lp.t_unit_to_python(knl, var_name="again")
namespace = {}
exec(text, namespace)  # noqa: S102
evt, (grid_again,) = namespace["again"](queue, x=x, y=y)

RESULTS = {
    "grid": grid,
    "grid again": grid_again,
    "mentions": ["outer_product" in text, "again" in text, "make_kernel" in text],
}
EXPECTED = {
    "grid": np.outer(np.sin(x), np.cos(y)),
    "grid again": np.outer(np.sin(x), np.cos(y)),
    "mentions": [True, True, True],
}
