"""The potential energy of charges, over pairs i<j of a triangular domain, and the kinetic one."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(63)
n = 23
x, y, vx, vy = rng.normal(size=(4, n))
q = rng.choice([-1.0, 1.0], size=n)

knl = lp.make_kernel(
    "{ [i,j,p]: 0<=i<n and i<j<n and 0<=p<n }",
    """
    epot = sum([i,j], q[i]*q[j]/sqrt((x[i]-x[j])**2 + (y[i]-y[j])**2)) {id=pot}
    ekin = 0.5*sum(p, vx[p]**2 + vy[p]**2)                              {id=kin}
    """,
    [
        lp.GlobalArg("q,x,y,vx,vy", np.float64, shape="n"),
        lp.GlobalArg("epot,ekin", np.float64, shape=()),
        "...",
    ],
    name="energy",
    assumptions="n>=2",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, "return_dict")
evt, out = knl(queue, q=q, x=x, y=y, vx=vx, vy=vy)

r = np.hypot(x[:, None] - x, y[:, None] - y)
upper = np.triu_indices(n, 1)
RESULTS = {key: np.asarray(out[key]) for key in ("epot", "ekin")}
EXPECTED = {
    "epot": ((q[:, None] * q)[upper] / r[upper]).sum(),
    "ekin": (vx**2 + vy**2).sum() / 2,
}
