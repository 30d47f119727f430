"""A domain mapped to tiles by a relation of isl's, instead of two splits."""

import islpy as isl
import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(88)
a = rng.normal(size=(3, 37))

knl = lp.make_kernel(
    "{ [t,x]: 0<=t<3 and 0<=x<nx }",
    "out[t,x] = a[t,x] + t*x",
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"a": np.float64})
transform = isl.BasicMap(
    "[nx] -> { [t,x] -> [tx,tt,xx]: xx = x mod 16 and x = 16*tx + xx and tt = t and 0<=xx<16 }"
)
knl = lp.map_domain(knl, transform)
knl = lp.prioritize_loops(knl, "tx,tt,xx")
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get(), "inames": sorted(knl.default_entrypoint.all_inames())}
EXPECTED = {
    "out": a + np.arange(3)[:, None] * np.arange(37),
    "inames": ["tt", "tx", "xx"],
}
