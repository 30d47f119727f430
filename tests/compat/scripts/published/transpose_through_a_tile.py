"""A transpose through a padded tile: add_prefetch, tag_array_axes of it, g and l tags."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "out[j,i] = a[i,j]",
    [
        lp.GlobalArg("a", np.float32, shape=("n", "m")),
        lp.GlobalArg("out", np.float32, shape=("m", "n")),
        "...",
    ],
    name="transpose",
    assumptions="n>=1 and m>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "j", 16, inner_tag="l.1", outer_tag="g.0")
knl = lp.split_iname(knl, "i", 16, inner_tag="l.0", outer_tag="g.1")
knl = lp.add_prefetch(
    knl,
    "a",
    "i_inner,j_inner",
    temporary_name="tile",
    default_tag="l.auto",
    fetch_outer_inames=frozenset(["i_outer", "j_outer"]),
)
before = knl.default_entrypoint.temporary_variables["tile"].shape
knl = lp.tag_array_axes(knl, "tile", "stride:17,stride:1")
a = np.random.default_rng(21).random((37, 50)).astype(np.float32)
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"transposed": out.get(), "tile": list(before)}
EXPECTED = {"transposed": a.T, "tile": [16, 16]}
