"""Oscillating potentials of point sources, in complex numbers and in three dimensions."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [t,s,d]: 0<=t<nt and 0<=s<ns and 0<=d<3 }",
    """
    for t, s
        <> r2 = sum(d, (x[d,t] - y[d,s])**2) {id=r2}
        <> r = sqrt(r2) {id=r, dep=r2}
        <> g = exp(wave*r)/(12.566370614359172*r) {id=green, dep=r}
        u[t] = u[t] + g*q[s] {id=sum, dep=green}
    end
    """,
    [
        lp.GlobalArg("x", np.float64, shape=(3, "nt")),
        lp.GlobalArg("y", np.float64, shape=(3, "ns")),
        lp.GlobalArg("q", np.complex128, shape="ns"),
        lp.GlobalArg("u", np.complex128, shape="nt"),
        lp.ValueArg("wave", np.complex128),
        "...",
    ],
    name="helmholtz",
    assumptions="nt>=1 and ns>=1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"d": "unr"})
knl = lp.prioritize_loops(knl, "t,s")
knl = lp.split_iname(knl, "t", 8, outer_tag="g.0", inner_tag="l.0")
rng = np.random.default_rng(32)
x, y = rng.random((3, 19)), 2 + rng.random((3, 13))
q = rng.normal(size=13) + 1j * rng.normal(size=13)
u = cl.array.zeros(queue, 19, np.complex128)
knl(queue, x=x, y=y, q=cl.array.to_device(queue, q), u=u, wave=4j)

distance = np.sqrt(((x[:, :, None] - y[:, None]) ** 2).sum(axis=0))
RESULTS = {"potential": u.get()}
EXPECTED = {"potential": (np.exp(4j * distance) / (4 * np.pi * distance)) @ q}
