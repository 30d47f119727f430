"""One array through many functions of the library, in two precisions: types found by inference."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
unary = ["sin", "cos", "tan", "exp", "log", "sqrt", "sinh", "cosh", "tanh", "fabs", "floor", "ceil"]
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [f"out_{name}[i] = {name}(x[i])" for name in unary]
    + ["out_max[i] = fmax(x[i], y[i])", "out_min[i] = fmin(x[i], y[i])", "out_pow[i] = x[i]**y[i]"],
)
knl = lp.set_options(knl, return_dict=True)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")

RESULTS, EXPECTED = {}, {}
for dtype in (np.float32, np.float64):
    x = np.linspace(0.1, 1.4, 41).astype(dtype)
    y = x[::-1].copy()
    evt, found = knl(queue, x=cl.array.to_device(queue, x), y=cl.array.to_device(queue, y))
    kind = np.dtype(dtype).name
    for name in unary:
        RESULTS[f"{name} of {kind}"] = found[f"out_{name}"].get()
        EXPECTED[f"{name} of {kind}"] = getattr(np, name)(x)
    for name, function in (("max", np.maximum), ("min", np.minimum), ("pow", np.power)):
        RESULTS[f"{name} of {kind}"] = found[f"out_{name}"].get()
        EXPECTED[f"{name} of {kind}"] = function(x, y)
