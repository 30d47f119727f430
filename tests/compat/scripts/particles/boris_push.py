"""The Boris push of charged particles, with cross products written out, over separate arrays."""

import loopy as lp
import numpy as np
import pyopencl as cl
from pyopencl.array import to_device

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(65)
n, dt = 41, 0.1
vel = rng.normal(size=(3, n))
efield, bfield = rng.normal(size=(2, 3, n))

knl = lp.make_kernel(
    "{ [p,c,c2,c3,c4]: 0<=p<n and 0<=c,c2,c3,c4<3 }",
    """
    for p
        <> um[c] = v[c,p] + h*e[c,p]           {id=um}
        <> b2 = sum(c2, (h*b[c2,p])**2)
        crossu(q) := um[(q+1)%3]*h*b[(q+2)%3,p] - um[(q+2)%3]*h*b[(q+1)%3,p]
        <> up[c3] = um[c3] + crossu(c3)  {id=up, dep=um}
        <> s = 2/(1 + b2)
        crossv(q) := up[(q+1)%3]*h*b[(q+2)%3,p] - up[(q+2)%3]*h*b[(q+1)%3,p]
        vnew[c4,p] = um[c4] + s*crossv(c4) + h*e[c4,p]  {dep=up:um}
    end
    """,
    [
        lp.GlobalArg("v,vnew,e,b", np.float64, shape="3,n"),
        lp.ValueArg("h", np.float64),
        ...,
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"c": "unr", "c2": "unr", "c3": "unr", "c4": "unr"})
knl = lp.split_iname(knl, "p", 16, outer_tag="g.0", inner_tag="l.0")
evt, (vnew,) = knl(
    queue,
    v=to_device(queue, vel),
    e=to_device(queue, efield),
    b=to_device(queue, bfield),
    h=dt / 2,
)

tvec = dt / 2 * bfield
minus = vel + dt / 2 * efield
prime = minus + np.cross(minus, tvec, axis=0)
plus = minus + 2 / (1 + (tvec**2).sum(axis=0)) * np.cross(prime, tvec, axis=0)
RESULTS = {"vnew": vnew.get()}
EXPECTED = {"vnew": plus + dt / 2 * efield}
