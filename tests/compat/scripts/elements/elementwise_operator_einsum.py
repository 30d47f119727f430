"""A gradient in a basis by einsum: derivative matrices for all elements, tagged and prioritized."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_einsum("dij,ej,ed->ei", ["D", "u", "drdx"], name="gradient")
knl = lp.add_dtypes(knl, {"D": np.float64, "u": np.float64, "drdx": np.float64})
inames = sorted(knl.default_entrypoint.all_inames())
knl = lp.split_iname(knl, "e", 4, outer_tag="g.0", inner_tag="l.1")
knl = lp.tag_inames(knl, {"i": "l.0"})
rng = np.random.default_rng(65)
D, u, drdx = rng.random((2, 6, 6)), rng.random((9, 6)), rng.random((9, 2))
evt, (out,) = knl(
    queue,
    D=cl.array.to_device(queue, D),
    u=cl.array.to_device(queue, u),
    drdx=cl.array.to_device(queue, drdx),
)

RESULTS = {"gradient": out.get(), "inames": inames}
EXPECTED = {
    "gradient": np.einsum("dij,ej,ed->ei", D, u, drdx),
    "inames": ["d", "e", "i", "j"],
}
