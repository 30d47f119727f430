"""Filter taps in constant memory: ConstantArg, and what the generated header says."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, t]: 0<=i<n and 0<=t<5 }",
    "filtered[i] = sum(t, taps[t]*samples[i + t])",
    [
        lp.ConstantArg("taps", np.float32, shape=(5,)),
        lp.GlobalArg("samples", np.float32, shape=("n+4",)),
        lp.GlobalArg("filtered", np.float32, shape=("n",)),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, {"t": "unr"})
header = str(lp.generate_header(knl)[0])

taps = np.array([0.1, 0.2, 0.4, 0.2, 0.1], np.float32)
samples = np.random.default_rng(15).normal(size=71).astype(np.float32)
evt, (filtered,) = knl(
    queue,
    taps=cl.array.to_device(queue, taps),
    samples=cl.array.to_device(queue, samples),
    n=67,
)

RESULTS = {"filtered": filtered.get(), "constants": header.count("__constant")}
EXPECTED = {"filtered": np.convolve(samples, taps, "valid"), "constants": 1}
