"""Dot products of single-precision rows, summed in double precision by TypeCast."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from pymbolic import var

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
r, j = var("r"), var("j")
a_rj, b_rj = (lp.TypeCast(np.float64, var(name)[r, j]) for name in "ab")
knl = lp.make_kernel(
    "{ [r, j]: 0<=r<rows and 0<=j<n }",
    [lp.Assignment(var("dots")[r], lp.Reduction("sum", "j", a_rj * b_rj), id="dot")],
    [
        lp.GlobalArg("a, b", np.float32, shape=("rows", "n")),
        lp.GlobalArg("dots", np.float64, shape=("rows",)),
        lp.ValueArg("rows, n", np.int32),
    ],
    assumptions="rows >= 1 and n >= 1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "r", 4, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(3)
a, b = rng.normal(size=(2, 10, 101)).astype(np.float32)
evt, (dots,) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

RESULTS = {"dots": dots.get()}
EXPECTED = {"dots": np.einsum("rj,rj->r", a.astype(np.float64), b.astype(np.float64))}
