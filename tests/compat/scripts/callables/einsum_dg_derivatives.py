"""Derivatives on simplices as one einsum of three tensors, in the form of DG codes."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
dim, nel, ndofs = 3, 29, 10
knl = lp.make_einsum("xre,rij,ej->xei", ("J", "R", "u"))
knl = lp.add_dtypes(knl, {"J": np.float64, "R": np.float64, "u": np.float64})
inames = sorted(knl.default_entrypoint.all_inames())
assert len(inames) == 5

rng = np.random.default_rng(9)
J = rng.normal(size=(dim, dim, nel))
R = rng.normal(size=(dim, ndofs, ndofs))
u = rng.normal(size=(nel, ndofs))
arrays = {name: cl.array.to_device(queue, value) for name, value in (("J", J), ("R", R), ("u", u))}
evt, (out,) = knl(queue, **arrays)

RESULTS = {"grad": out.get(), "args": sorted(arg.name for arg in knl.default_entrypoint.args)[:3]}
EXPECTED = {"grad": np.einsum("xre,rij,ej->xei", J, R, u), "args": ["J", "Ne", "Ni"]}
