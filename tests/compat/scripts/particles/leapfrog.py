"""Leapfrog for oscillators, kick-drift-kick with the loop over steps inside the kernel."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(64)
n, nsteps, dt = 33, 50, 0.05
x0, v0 = rng.normal(size=(2, n))
omega = rng.uniform(0.5, 2, size=n)

knl = lp.make_kernel(
    "{ [p,t]: 0<=p<n and 0<=t<nsteps }",
    """
    for p
        <> x = x0[p]
        <> v = v0[p]
        <> w2 = omega[p]**2
        for t
            v = v - 0.5*dt*w2*x
            x = x + dt*v
            v = v - 0.5*dt*w2*x
        end
        x1[p] = x
        v1[p] = v
    end
    """,
    [lp.ValueArg("dt", np.float64), "..."],
    seq_dependencies=True,
    assumptions="n>=1 and nsteps>=1",
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"x0": np.float64, "v0": np.float64, "omega": np.float64})
knl = lp.chunk_iname(knl, "p", 4, outer_tag="g.0")
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    queue,
    x0=cl.array.to_device(queue, x0),
    v0=cl.array.to_device(queue, v0),
    omega=cl.array.to_device(queue, omega),
    dt=dt,
    nsteps=nsteps,
)

x, v = x0.copy(), v0.copy()
for _ in range(nsteps):
    half = v - dt / 2 * omega**2 * x
    x = x + dt * half
    v = half - dt / 2 * omega**2 * x
RESULTS = {"v1": out["v1"].get(), "x1": out["x1"].get()}
EXPECTED = {"v1": v, "x1": x}
