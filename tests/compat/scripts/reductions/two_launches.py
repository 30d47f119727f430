"""Partial sums of blocks in one kernel, added up in a second one: a sum of many numbers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(142)
n = 1024
x = rng.normal(size=n)

partial = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "part = sum(i, x[i]*x[i])",
    [lp.GlobalArg("x", np.float64, shape="n"), lp.GlobalArg("part", np.float64, shape=()), ...],
    assumptions="n mod 128 = 0 and n>=128",
    lang_version=(2018, 2),
)
blocks = lp.make_kernel(
    "{ [b,i]: 0<=b<nb and 0<=i<128 }",
    "part[b] = sum(i, x[128*b + i]**2)",
    [
        lp.GlobalArg("x", np.float64, shape="128*nb"),
        lp.GlobalArg("part", np.float64, shape="nb"),
        lp.ValueArg("nb", np.int32),
    ],
    name="blocks",
    lang_version=(2018, 2),
)
blocks = lp.split_iname(blocks, "i", 32, inner_tag="l.0")
blocks = lp.split_reduction_outward(blocks, "i_inner")
blocks = lp.tag_inames(blocks, {"b": "g.0"})
final = lp.make_kernel("{ [b]: 0<=b<nb }", "out = sqrt(sum(b, part[b]))", name="final")
final = lp.add_dtypes(final, {"part": np.float64, "out": np.float64})
x_dev = cl.array.to_device(queue, x)
evt, (serial,) = partial(queue, x=x_dev)
evt, (part,) = blocks(queue, x=x_dev, nb=n // 128)
evt, (out,) = final(queue, part=part)

RESULTS = {"part": part.get(), "norm": out.get(), "serial": serial.get()}
EXPECTED = {
    "part": (x.reshape(-1, 128) ** 2).sum(axis=1),
    "norm": np.array(np.linalg.norm(x)),
    "serial": np.array(x @ x),
}
