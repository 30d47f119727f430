"""A product of matrices, tiles of both fetched into local memory under names of one's own."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i<m and 0<=j<n and 0<=k<l }",
    "c[i, j] = sum(k, a[i, k]*b[k, j])",
    [
        lp.GlobalArg("a", np.float32, shape=("m", "l")),
        lp.GlobalArg("b", np.float32, shape=("l", "n")),
        lp.GlobalArg("c", np.float32, shape=("m", "n")),
        ...,
    ],
    assumptions="m mod 8 = 0 and n mod 8 = 0 and l mod 8 = 0 and m,n,l >= 8",
    name="matmul",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 8)
knl = lp.add_prefetch(
    knl, "a", ["k_inner", "i_inner"], temporary_name="a_tile", default_tag="l.auto"
)
knl = lp.add_prefetch(
    knl, "b", ["j_inner", "k_inner"], temporary_name="b_tile", default_tag="l.auto"
)
knl = lp.prioritize_loops(knl, "k_outer,k_inner")
knl = lp.add_inames_for_unused_hw_axes(knl)

rng = np.random.default_rng(23)
a = rng.normal(size=(16, 32)).astype(np.float32)
b = rng.normal(size=(32, 24)).astype(np.float32)
evt, (c,) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

RESULTS = {"c": c.get(), "tiles": sorted(knl.default_entrypoint.temporary_variables)}
EXPECTED = {"c": a @ b, "tiles": ["a_tile", "b_tile"]}
