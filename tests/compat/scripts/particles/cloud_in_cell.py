"""Charge deposited on a periodic line by linear weights, gathered by each node."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(67)
nodes, npart = 16, 83
x = rng.uniform(0, nodes, size=npart)
w = rng.uniform(size=npart)

knl = lp.make_kernel(
    "{ [g,p]: 0<=g<nodes and 0<=p<npart }",
    """
    hat(s) := fmax(0.0, 1 - fabs(s))
    rho[g] = sum(p, w[p]*(hat(x[p]-g) + hat(x[p]-g-nodes) + hat(x[p]-g+nodes)))
    """,
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"x": np.float64, "w": np.float64})
knl = lp.split_iname(knl, "g", 16, inner_tag="l.0", outer_tag="g.0")
knl = lp.split_iname(knl, "p", 32)
knl = lp.prioritize_loops(knl, ["p_outer", "p_inner"])
dev = {"x": cl.array.to_device(queue, x), "w": cl.array.to_device(queue, w)}
evt, (rho,) = knl(queue, nodes=nodes, **dev)

cell = np.floor(x).astype(int)
expected = np.zeros(nodes)
np.add.at(expected, cell % nodes, w * (1 - (x - cell)))
np.add.at(expected, (cell + 1) % nodes, w * (x - cell))
RESULTS = {"rho": rho.get()}
EXPECTED = {"rho": expected}
