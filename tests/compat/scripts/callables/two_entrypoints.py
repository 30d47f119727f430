"""Two kernels in one translation unit, called by entrypoint=; they share a function."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
halve = lp.make_function(
    "{ [i]: 0<=i<20 }",
    "b[i] = a[i]/2",
    [lp.GlobalArg("a, b", shape=(20,))],
    name="halve",
    lang_version=(2018, 2),
)
mean = lp.make_kernel(
    "{ [i, j, k, l]: 0<=i,j,k,l<20 }",
    """
    s[k] = x[k] + y[k]  {id=add}
    [i]: z[i] = halve([j]: s[j])  {dep=add}
    """,
    [
        lp.GlobalArg("x, y, z", np.float64, shape=(20,)),
        lp.TemporaryVariable("s", np.float64, shape=(20,)),
    ],
    name="mean_of_two",
    lang_version=(2018, 2),
)
spread = lp.make_kernel(
    "{ [i, j, k]: 0<=i,j,k<20 }",
    """
    d[k] = x[k] - y[k]  {id=sub}
    [i]: z[i] = halve([j]: d[j])  {dep=sub}
    """,
    [
        lp.GlobalArg("x, y, z", np.float64, shape=(20,)),
        lp.TemporaryVariable("d", np.float64, shape=(20,)),
    ],
    name="half_spread",
    lang_version=(2018, 2),
)
prog = lp.merge([mean, spread, halve])

rng = np.random.default_rng(40)
x, y = rng.normal(size=20), rng.normal(size=20)
args = {"x": cl.array.to_device(queue, x), "y": cl.array.to_device(queue, y)}
evt, (middle,) = prog(queue, entrypoint="mean_of_two", **args)
evt, (half,) = prog(queue, entrypoint="half_spread", **args)

RESULTS = {"middle": middle.get(), "half": half.get(), "names": sorted(prog.entrypoints)}
EXPECTED = {
    "middle": (x + y) / 2,
    "half": (x - y) / 2,
    "names": ["half_spread", "mean_of_two"],
}
