"""Pressure and sound speed of an ideal gas per point: a function on scalars, inlined."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
eos = lp.make_function(
    "{ : }",
    """
    p[0] = (gamma - 1)*(energy - 0.5*rho*v*v)  {id=p}
    c[0] = sqrt(gamma*p[0]/rho)  {dep=p}
    """,
    [
        lp.ValueArg("gamma, rho, v, energy", np.float64),
        lp.GlobalArg("p, c", np.float64, shape=(1,), is_input=False),
    ],
    name="eos",
)
knl = lp.make_kernel(
    "{ [i, a, b]: 0<=i<n and 0<=a,b<1 }",
    """
    for i
        [a]: p[i+a], [b]: c[i+b] = eos(1.4, state[0, i], state[1, i], state[2, i])
    end
    """,
    [
        lp.GlobalArg("state", np.float64, shape=(3, "n")),
        lp.GlobalArg("p, c", np.float64, shape=("n",)),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n > 0",
)
knl = lp.merge([knl, eos])
knl = lp.inline_callable_kernel(knl, "eos")

rng = np.random.default_rng(62)
rho, v = rng.uniform(1, 2, 27), rng.normal(size=27)
energy = 5 + rng.uniform(0, 1, 27) + 0.5 * rho * v * v
state = np.array([rho, v, energy])
evt, (p, c) = knl(queue, state=cl.array.to_device(queue, state))

p_ref = 0.4 * (energy - 0.5 * rho * v * v)
RESULTS = {"p": p.get(), "c": c.get()}
EXPECTED = {"p": p_ref, "c": np.sqrt(1.4 * p_ref / rho)}
