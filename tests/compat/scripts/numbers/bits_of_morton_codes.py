"""Morton codes of grid points: shifts, masks, bitwise or and exclusive or on integers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> x1 = (xs[i] | (xs[i] << 4)) & 3855  {id=x1}
    <> x2 = (x1 | (x1 << 2)) & 13107        {id=x2}
    <> x3 = (x2 | (x2 << 1)) & 21845        {id=x3}
    <> y1 = (ys[i] | (ys[i] << 4)) & 3855  {id=y1}
    <> y2 = (y1 | (y1 << 2)) & 13107        {id=y2}
    <> y3 = (y2 | (y2 << 1)) & 21845        {id=y3}
    code[i] = x3 | (y3 << 1)
    flipped[i] = ~xs[i] ^ ys[i]
    """,
    [
        lp.GlobalArg("xs, ys, code, flipped", np.int32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
rng = np.random.default_rng(5)
xs, ys = rng.integers(0, 256, size=(2, 29)).astype(np.int32)
evt, (code, flipped) = knl(
    queue, xs=cl.array.to_device(queue, xs), ys=cl.array.to_device(queue, ys)
)


def interleave(x, y):
    return sum(((x >> b & 1) << 2 * b) | ((y >> b & 1) << (2 * b + 1)) for b in range(8))


RESULTS = {"code": code.get(), "flipped": flipped.get()}
EXPECTED = {"code": interleave(xs, ys), "flipped": ~xs ^ ys}
