"""Norms of a matrix: Frobenius, one, infinity, and the greatest element, all in one kernel."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(126)
a = rng.normal(size=(14, 9))

knl = lp.make_kernel(
    "{ [i,j,i1,j1,i2,j2,i3,j3]: 0<=i,i1,i2,i3<m and 0<=j,j1,j2,j3<n }",
    """
    frob = sqrt(sum((i,j), a[i,j]**2))
    one = max(j1, sum(i1, fabs(a[i1,j1])))
    inf = max(i2, sum(j2, fabs(a[i2,j2])))
    most = max((i3,j3), fabs(a[i3,j3]))
    """,
    [
        lp.GlobalArg("a", np.float64, shape="m,n"),
        lp.GlobalArg("frob,one,inf,most", np.float64, shape=()),
        lp.ValueArg("m,n", np.int32),
    ],
    assumptions="m>=1 and n>=1",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, a=a)

RESULTS = {name: float(out[name]) for name in ("frob", "one", "inf", "most")}
EXPECTED = {
    "frob": np.linalg.norm(a),
    "one": np.linalg.norm(a, 1),
    "inf": np.linalg.norm(a, np.inf),
    "most": abs(a).max(),
}
