"""A banded matrix stored by diagonals times a vector, the ends guarded by conditions."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(124)
n, kl, ku = 26, 2, 1
full = np.triu(np.tril(rng.normal(size=(n, n)), ku), -kl)
bands = np.zeros((kl + ku + 1, n))
for d in range(-kl, ku + 1):
    for i in range(n):
        if 0 <= i + d < n:
            bands[d + kl, i] = full[i, i + d]
x = rng.normal(size=n)

knl = lp.make_kernel(
    "{ [i,d]: 0<=i<n and 0<=d<=kl+ku }",
    """
    for i
        y[i] = 0                                          {id=zero}
        for d
            if i + d - kl >= 0 and i + d - kl < n
                y[i] = y[i] + bands[d,i]*x[i+d-kl]        {id=add, dep=zero}
            end
        end
    end
    """,
    [
        lp.GlobalArg("bands", np.float64, shape="kl+ku+1,n"),
        lp.GlobalArg("x", np.float64, shape="n"),
        lp.GlobalArg("y", np.float64, shape="n", is_input=False),
        lp.ValueArg("n,kl,ku", np.int32),
    ],
    assumptions="n>=1 and kl>=0 and ku>=0",
    name="banded",
    lang_version=(2018, 2),
)
fixed = lp.fix_parameters(knl, kl=kl, ku=ku)
fixed = lp.tag_inames(fixed, {"d": "unr"})
fixed = lp.split_iname(fixed, "i", 8, outer_tag="g.0", inner_tag="l.0")
arrays = {"bands": cl.array.to_device(queue, bands), "x": cl.array.to_device(queue, x)}
evt, (y,) = fixed(queue, **arrays)
evt, (general,) = knl(queue, kl=kl, ku=ku, **arrays)

RESULTS = {"fixed": y.get(), "general": general.get()}
EXPECTED = {"fixed": full @ x, "general": full @ x}
