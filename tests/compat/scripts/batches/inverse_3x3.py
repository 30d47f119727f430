"""Inverses of matrices of order three by cofactors, which substitution rules spell out."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(111)
n = 35
a = rng.normal(size=(n, 3, 3)) + 3 * np.eye(3)

knl = lp.make_kernel(
    "{ [e,i,j]: 0<=e<n and 0<=i,j<3 }",
    """
    ring(p, q) := a[e,p%3,q%3]
    cof(p, q) := ring(p+1,q+1)*ring(p+2,q+2) - ring(p+1,q+2)*ring(p+2,q+1)
    <> det = a[e,0,0]*cof(0,0) + a[e,0,1]*cof(0,1) + a[e,0,2]*cof(0,2)
    inv[e,i,j] = cof(j,i) / det
    """,
    [lp.GlobalArg("a,inv", np.float64, shape="n,3,3"), lp.ValueArg("n", np.int32)],
    lang_version=(2018, 2),
)
knl = lp.expand_subst(knl)
knl = lp.tag_inames(knl, {"i": "unr", "j": "unr"})
knl = lp.split_iname(knl, "e", 32, outer_tag="g.0", inner_tag="l.0")
evt, (inv,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"inv": inv.get()}
EXPECTED = {"inv": np.linalg.inv(a)}
