"""Interpolation to quadrature points of quadrilaterals, one direction at a time."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i,q,j,k,a,b]: 0<=e<ne and 0<=i,j,k<4 and 0<=q,a,b<5 }",
    """
    for e
        tmp[q,j] = sum(i, B[q,i]*u[e,i,j]) {id=first}
        v[e,a,b] = sum(k, B[b,k]*tmp[a,k]) {id=second, dep=first}
    end
    """,
    [
        lp.GlobalArg("B", np.float64, shape=(5, 4)),
        lp.GlobalArg("u", np.float64, shape=("ne", 4, 4)),
        lp.GlobalArg("v", np.float64, shape=("ne", 5, 5)),
        lp.TemporaryVariable("tmp", np.float64, shape=(5, 4), address_space=lp.auto),
        lp.ValueArg("ne", np.int32),
    ],
    name="interpolate",
    assumptions="ne>=1",
    lang_version=(2018, 2),
)
serial = knl
knl = lp.tag_inames(knl, {"e": "g.0", "q": "l.0", "j": "l.1", "a": "l.0"})
knl = lp.tag_inames(knl, {"b": "l.1"})
rng = np.random.default_rng(63)
B, u = rng.random((5, 4)), rng.random((6, 4, 4))
evt, (v,) = knl(queue, B=B, u=u)
evt, (v_serial,) = serial(queue, B=B, u=u)

expected = np.einsum("qi,pj,eij->eqp", B, B, u)
RESULTS = {"groups": v, "serial": v_serial}
EXPECTED = {"groups": expected, "serial": expected}
