"""A stencil whose weights and offsets are arrays: a reduction over points, gathered, unrolled."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,p]: 0<=i<n and 0<=p<npts }",
    "v[i] = sum(p, w[p]*u[i + off[p]])",
    [
        lp.GlobalArg("u", np.float64, shape="n+6"),
        lp.GlobalArg("v", np.float64, shape="n"),
        lp.ConstantArg("w", np.float64, shape="npts"),
        lp.ConstantArg("off", np.int32, shape="npts"),
        lp.ValueArg("n,npts", np.int32),
    ],
    name="stencil",
    assumptions="n>=1 and npts>=1",
)
knl = lp.fix_parameters(knl, npts=7)
knl = lp.tag_inames(knl, {"p": "unr"})
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
w = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
off = np.arange(7, dtype=np.int32)
u = np.sin(np.linspace(0, 4, 75))
evt, (v,) = knl(queue, u=u, w=w, off=off)

RESULTS = {"v": v}
EXPECTED = {"v": np.correlate(u, w, mode="valid")}
