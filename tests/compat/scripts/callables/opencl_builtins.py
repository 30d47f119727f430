"""Built-in functions of OpenCL: fmin, fmax, tanh, cosh, sinh, fabs, rsqrt."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    horner[i] = (0.5f*x[i] + 2.0f)*x[i] + 1.0f
    inside[i] = fmin(fmax(x[i], -0.5f), 0.5f)
    waves[i] = tanh(x[i]) + cosh(x[i])*sinh(x[i])
    away[i] = fabs(x[i]) + rsqrt(1 + x[i]*x[i])
    """,
    [
        lp.GlobalArg("x", np.float32, shape="n"),
        lp.GlobalArg("horner, inside, waves, away", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 1",
    lang_version=(2018, 2),
    options="return_dict",
)
knl = lp.split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")

x = np.random.default_rng(33).normal(size=150).astype(np.float32)
evt, out = knl(queue, x=cl.array.to_device(queue, x))

RESULTS = {name: out[name].get() for name in sorted(out)}
EXPECTED = {
    "horner": (0.5 * x + 2) * x + 1,
    "inside": np.clip(x, -0.5, 0.5),
    "waves": np.tanh(x) + np.cosh(x) * np.sinh(x),
    "away": np.abs(x) + 1 / np.sqrt(1 + x * x),
}
