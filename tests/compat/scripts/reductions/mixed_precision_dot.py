"""Dot products of single precision vectors that are summed in double, next to ones in single."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(163)
n = 500
x, y = rng.uniform(size=(2, n)).astype(np.float32)

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <float64> acc = 0.0            {id=zero}
    <float64> xi = x[i]            {id=xi}
    acc = acc + xi*y[i]            {id=add, dep=zero:xi}
    out = acc                      {id=out, dep=add}
    """,
    [
        lp.GlobalArg("x,y", np.float32, shape="n"),
        lp.GlobalArg("out", np.float64, shape=()),
        ...,
    ],
    assumptions="n>=1",
    lang_version=(2018, 2),
)
single = lp.make_kernel("{ [i]: 0<=i<n }", "out = sum(i, x[i]*y[i])", lang_version=(2018, 2))
single = lp.add_and_infer_dtypes(single, {"x": np.float32, "y": np.float32})
dev = {"x": cl.array.to_device(queue, x), "y": cl.array.to_device(queue, y)}
evt, (double,) = knl(queue, **dev)
evt, (out,) = single(queue, **dev)

RESULTS = {
    "double": double.get(),
    "single": out.get(),
    "types": [str(double.dtype), str(out.dtype)],
}
EXPECTED = {
    "double": np.asarray(x.astype(float) @ y.astype(float)),
    "single": np.asarray(x @ y),
    "types": ["float64", "float32"],
}
