"""The classical Runge-Kutta step of the Lotka-Volterra equations for an ensemble of states."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(69)
n, nsteps = 19, 12
u0 = rng.uniform(0.5, 2, size=(n, 2))

knl = lp.make_kernel(
    "{ [e,t]: 0<=e<n and 0<=t<nsteps }",
    """
    fa(a, b) := a*(1.1 - 0.4*b)
    fb(a, b) := b*(0.1*a - 0.4)
    for e
        <> a = u0[e,0]
        <> b = u0[e,1]
        for t
            <> a1 = fa(a, b)
            <> b1 = fb(a, b)
            <> a2 = fa(a + h/2*a1, b + h/2*b1)
            <> b2 = fb(a + h/2*a1, b + h/2*b1)
            <> a3 = fa(a + h/2*a2, b + h/2*b2)
            <> b3 = fb(a + h/2*a2, b + h/2*b2)
            <> a4 = fa(a + h*a3, b + h*b3)
            <> b4 = fb(a + h*a3, b + h*b3)
            a = a + h/6*(a1 + 2*a2 + 2*a3 + a4)
            b = b + h/6*(b1 + 2*b2 + 2*b3 + b4)
        end
        u[e,0] = a
        u[e,1] = b
    end
    """,
    [lp.GlobalArg("u0,u", np.float64, shape="n,2"), lp.ValueArg("h", np.float64), "..."],
    seq_dependencies=True,
)
knl = lp.fix_parameters(knl, nsteps=nsteps)
knl = lp.assume(knl, "n>=1")
knl = lp.split_iname(knl, "e", 4, outer_tag="g.0", inner_tag="l.0")
evt, (u,) = knl(queue, u0=cl.array.to_device(queue, u0), h=0.1)


def rate(state):
    """What the equations say."""
    a, b = state
    return np.array([a * (1.1 - 0.4 * b), b * (0.1 * a - 0.4)])


state = u0.T.copy()
for _ in range(nsteps):
    k1 = rate(state)
    k2 = rate(state + 0.05 * k1)
    k3 = rate(state + 0.05 * k2)
    k4 = rate(state + 0.1 * k3)
    state = state + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
RESULTS = {"u": u.get()}
EXPECTED = {"u": state.T}
