"""One matrix for all elements: a matvec function on each element's degrees of freedom."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
ndofs, nel = 6, 23
matvec = lp.make_function(
    "{ [i, j]: 0<=i,j<6 }",
    "y[i] = sum(j, A[i, j]*x[j])",
    name="matvec",
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [e, i0, i1, i2, i3]: 0<=e<nel and 0<=i0,i1,i2,i3<6 }",
    """
    for e
        [i0]: res[e, i0] = matvec([i1, i2]: D[i1, i2], [i3]: u[e, i3])
    end
    """,
    [
        lp.GlobalArg("D", np.float64, shape=(ndofs, ndofs)),
        lp.GlobalArg("u", np.float64, shape=("nel", ndofs)),
        lp.GlobalArg("res", np.float64, shape=("nel", ndofs)),
        ...,
    ],
    assumptions="nel >= 1",
    name="apply",
    lang_version=(2018, 2),
)
knl = lp.merge([knl, matvec])
parallel = lp.split_iname(knl["apply"], "e", 8, outer_tag="g.0", inner_tag="l.0")
knl = knl.with_kernel(parallel)

rng = np.random.default_rng(5)
D, u = rng.normal(size=(ndofs, ndofs)), rng.normal(size=(nel, ndofs))
evt, (res,) = knl(queue, D=cl.array.to_device(queue, D), u=cl.array.to_device(queue, u))

RESULTS = {"res": res.get()}
EXPECTED = {"res": u @ D.T}
