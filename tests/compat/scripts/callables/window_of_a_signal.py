"""Smooths windows of a signal that start at an offset: slices of calls with affine indices."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
smooth = lp.make_function(
    "{ [i]: 0<=i<16 }",
    "dst[i] = 0.25f*src[i] + 0.5f*src[i+1] + 0.25f*src[i+2]",
    [
        lp.GlobalArg("src", np.float32, shape=(18,)),
        lp.GlobalArg("dst", np.float32, shape=(16,)),
    ],
    name="smooth",
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<16 and 0<=j<18 }",
    "[i]: out[i+3] = smooth([j]: signal[j+20])",
    [
        lp.GlobalArg("signal", np.float32, shape=(50,)),
        lp.GlobalArg("out", np.float32, shape=(24,)),
    ],
    lang_version=(2018, 2),
)
knl = lp.merge([knl, smooth])

signal = np.random.default_rng(12).normal(size=50).astype(np.float32)
out = cl.array.zeros(queue, 24, np.float32)
knl(queue, signal=cl.array.to_device(queue, signal), out=out)

expected = np.zeros(24, np.float32)
part = signal[20:38]
expected[3:19] = 0.25 * part[:-2] + 0.5 * part[1:-1] + 0.25 * part[2:]
RESULTS = {"out": out.get()}
EXPECTED = {"out": expected}
