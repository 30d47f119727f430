"""A transpose split in both axes in several orders: each gives the same; inames are listed."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(80)
a = rng.normal(size=(23, 17)).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<m and 0<=j<n }", "out[j,i] = a[i,j]", name="transpose", lang_version=(2018, 2)
)
knl = lp.add_dtypes(knl, {"a": np.float32})
knl = lp.assume(knl, "m>=1 and n>=1")
knl = lp.split_iname(knl, "i", 8)
knl = lp.split_iname(knl, "j", 4, inner_iname="jin", outer_iname="jout")
RESULTS = {"inames": sorted(knl["transpose"].all_inames())}
for order in ("i_outer,jout,i_inner,jin", "jout,jin,i_outer,i_inner"):
    ordered = lp.prioritize_loops(knl, order)
    evt, (out,) = ordered(queue, a=cl.array.to_device(queue, a))
    RESULTS[order] = out.get()

EXPECTED = {
    "inames": ["i_inner", "i_outer", "jin", "jout"],
    "i_outer,jout,i_inner,jin": a.T,
    "jout,jin,i_outer,i_inner": a.T,
}
