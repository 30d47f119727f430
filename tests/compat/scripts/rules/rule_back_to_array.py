"""assignment_to_subst, then precompute: a temporary moves from all rows to one row."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, k, l]: 0<=i,k<14 and 0<=j,l<10 }",
    """
    g[k, l] = sin(a[k, l])*b[l]  {id=fill}
    out[i, j] = g[i, j]**2 + g[i, 9-j]  {dep=fill}
    """,
    [
        lp.GlobalArg("a, out", np.float64, shape=(14, 10)),
        lp.GlobalArg("b", np.float64, shape=(10,)),
        lp.TemporaryVariable("g", np.float64, shape=(14, 10), address_space=lp.AddressSpace.GLOBAL),
    ],
    lang_version=(2018, 2),
)
knl = lp.assignment_to_subst(knl, "g")
knl = lp.precompute(
    knl,
    "g_subst",
    "j",
    temporary_name="g_row",
    temporary_address_space=lp.AddressSpace.LOCAL,
    default_tag="l.0",
)
knl = lp.tag_inames(knl, {"i": "g.0", "j": "l.0"})

rng = np.random.default_rng(24)
a, b = rng.normal(size=(14, 10)), rng.normal(size=10)
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

g = np.sin(a) * b
RESULTS = {"out": out.get(), "row": list(knl.default_entrypoint.temporary_variables["g_row"].shape)}
EXPECTED = {"out": g**2 + g[:, ::-1], "row": [10]}
