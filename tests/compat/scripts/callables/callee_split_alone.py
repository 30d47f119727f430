"""Transforms only the function of a program: its loop is unrolled, the caller stays."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
integrate = lp.make_function(
    "{ [q]: 0<=q<8 }",
    "res[0] = sum(q, w[q]*f[q])",
    [lp.GlobalArg("w, f", shape=(8,)), lp.GlobalArg("res", shape=(1,))],
    name="integrate",
)
main = lp.make_kernel(
    "{ [c, q1, q2, z]: 0<=c<ncells and 0<=q1,q2<8 and 0<=z<1 }",
    "for c\n [z]: total[c+z] = integrate([q1]: weights[q1], [q2]: vals[c, q2])\n end",
    [
        lp.GlobalArg("weights", np.float64, shape=(8,)),
        lp.GlobalArg("vals", np.float64, shape=("ncells", 8)),
        lp.GlobalArg("total", np.float64, shape=("ncells",)),
        lp.ValueArg("ncells", np.int32),
    ],
    assumptions="ncells > 0",
    name="sum_cells",
)
prog = lp.merge([main, integrate])
callee = lp.split_iname(prog["integrate"], "q", 4, inner_tag="unr")
prog = prog.with_kernel(callee)

nodes, weights = np.polynomial.legendre.leggauss(8)
centers = np.linspace(0, 2, 15)
vals = np.cos(centers[:, None] + nodes)
evt, (total,) = prog(
    queue, weights=cl.array.to_device(queue, weights), vals=cl.array.to_device(queue, vals)
)

RESULTS = {"total": total.get(), "inames": sorted(prog["integrate"].all_inames())}
EXPECTED = {
    "total": np.sin(centers + 1) - np.sin(centers - 1),
    "inames": ["q_inner", "q_outer"],
}
