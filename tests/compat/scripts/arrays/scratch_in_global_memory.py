"""A scratch array in global memory between two phases, with a global barrier between them."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, io, j, jo]: 0<=i,j<16 and 0<=io,jo<4 }",
    """
    for io, i
        scratch[16*io + i] = 2*a[16*io + i] + 1  {id=fill}
    end
    ... gbarrier {id=bar, dep=fill}
    for jo, j
        out[16*jo + j] = scratch[63 - 16*jo - j] - scratch[16*jo + j]  {dep=bar}
    end
    """,
    [
        lp.GlobalArg("a, out", np.float64, shape=(64,)),
        lp.TemporaryVariable(
            "scratch", np.float64, shape=(64,), address_space=lp.AddressSpace.GLOBAL
        ),
    ],
    name="reverse_difference",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"io": "g.0", "i": "l.0", "jo": "g.0", "j": "l.0"})

a = np.random.default_rng(11).normal(size=64)
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get()}
EXPECTED = {"out": 2 * a[::-1] - 2 * a}
