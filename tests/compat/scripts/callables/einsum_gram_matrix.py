"""The Gram matrix of a set of columns by make_einsum, tiled after that."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_einsum(
    "ki,kj->ij",
    ("V", "V2"),
    name="gram",
)
knl = lp.add_dtypes(knl, {"V": np.float64, "V2": np.float64})
knl = lp.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 4, outer_tag="g.1", inner_tag="l.0")
RESULTS = {"name": knl.default_entrypoint.name}

V = np.random.default_rng(2).normal(size=(19, 10))
V_dev = cl.array.to_device(queue, V)
evt, (G,) = knl(queue, V=V_dev, V2=V_dev)
RESULTS["G"] = G.get()

EXPECTED = {"name": "gram", "G": V.T @ V}
