"""Two local arrays that are never alive together share memory: alias_temporaries."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [g, i, j, k, l]: 0<=g<5 and 0<=i,j,k,l<8 }",
    """
    for g
        first[i] = a[g, i]*a[g, i]              {id=f_fill}
        mid[j] = first[7-j] + first[j]          {id=f_use, dep=f_fill}
        second[k] = sqrt(mid[k])                {id=s_fill, dep=f_use}
        out[g, l] = second[l] - second[7-l] + l {id=s_use, dep=s_fill}
    end
    """,
    [
        lp.GlobalArg("a, out", np.float64, shape=(5, 8)),
        lp.TemporaryVariable("first", np.float64, shape=(8,), address_space=lp.AddressSpace.LOCAL),
        lp.TemporaryVariable("second", np.float64, shape=(8,), address_space=lp.AddressSpace.LOCAL),
        lp.TemporaryVariable("mid", np.float64, shape=(8,), address_space=lp.AddressSpace.LOCAL),
    ],
    lang_version=(2018, 2),
)
knl = lp.alias_temporaries(knl, ["first", "second"])
knl = lp.allocate_temporaries_for_base_storage(knl)
knl = lp.tag_inames(knl, "g:g.0, i:l.0, j:l.0, k:l.0, l:l.0")

a = np.random.default_rng(12).normal(size=(5, 8))
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get()}
EXPECTED = {"out": np.tile(np.arange(8.0), (5, 1))}
