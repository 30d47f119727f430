"""A table of Gauss weights in the code: a read-only temporary with an initializer."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
nodes, weights = np.polynomial.legendre.leggauss(5)
knl = lp.make_kernel(
    "{ [c, q]: 0<=c<n and 0<=q<5 }",
    "integral[c] = h/2*sum(q, w[q]*exp(c*h + h/2*(1 + t[q])))",
    [
        lp.TemporaryVariable(
            "w", initializer=weights, read_only=True, address_space=lp.AddressSpace.GLOBAL
        ),
        lp.TemporaryVariable(
            "t", initializer=nodes, read_only=True, address_space=lp.AddressSpace.GLOBAL
        ),
        lp.GlobalArg("integral", np.float64, shape="n"),
        lp.ValueArg("h", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"q": "unr", "c": "g.0"})
evt, (integral,) = knl(queue, n=12, h=0.125)

edges = np.arange(13) * 0.125
RESULTS = {"integral": integral.get()}
EXPECTED = {"integral": np.diff(np.exp(edges))}
