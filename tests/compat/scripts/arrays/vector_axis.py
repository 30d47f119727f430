"""Four colour channels as an OpenCL vector: the last axis is tagged "vec", the iname too."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, c]: 0<=i<n and 0<=c<4 }",
    "out[i, c] = gain*img[i, c] + 0.5f",
    [
        lp.GlobalArg("img, out", np.float32, shape=("n", 4)),
        lp.ValueArg("gain", np.float32),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_array_axes(knl, ["img", "out"], "C,vec")
knl = lp.tag_inames(knl, {"c": "vec"})
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")

img = np.random.default_rng(3).uniform(size=(37, 4)).astype(np.float32)
img_dev = cl.array.to_device(queue, img)
out_dev = cl.array.empty(queue, (37, 4), np.float32)
knl(queue, img=img_dev, out=out_dev, gain=np.float32(2))

RESULTS = {"out": out_dev.get()}
EXPECTED = {"out": 2 * img + np.float32(0.5)}
