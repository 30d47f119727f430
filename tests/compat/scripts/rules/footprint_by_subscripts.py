"""Fetches exactly the named columns of a table: footprint_subscripts of a prefetch."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from pymbolic import parse as parse_subscript

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<7 }",
    "out[i, j] = table[i, 2*j] * table[i, 2*j + 1]",
    [
        lp.GlobalArg("table", np.float32, shape=("n", 14)),
        lp.GlobalArg("out", np.float32, shape=("n", 7)),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.add_prefetch(
    knl,
    "table",
    footprint_subscripts=[parse_subscript(text) for text in ("i, 2*j", "i, 2*j + 1")],
    sweep_inames=["j"],
    temporary_name="row",
    temporary_address_space=lp.AddressSpace.PRIVATE,
    default_tag="for",
)
knl = lp.tag_inames(knl, {"i": "g.0"})

table = np.random.default_rng(25).normal(size=(11, 14)).astype(np.float32)
evt, (out,) = knl(queue, table=cl.array.to_device(queue, table))

RESULTS = {"out": out.get()}
EXPECTED = {"out": table[:, ::2] * table[:, 1::2]}
