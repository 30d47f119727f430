"""A 1D wave by leapfrog, the time loop in the kernel, space and time in one array."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [t,x]: 1<=t<nt-1 and 1<=x<nx-1 }",
    "u[t+1,x] = 2*u[t,x] - u[t-1,x] + c2*(u[t,x-1] - 2*u[t,x] + u[t,x+1])",
    [
        lp.GlobalArg("u", np.float64, shape="nt,nx"),
        lp.ValueArg("c2", np.float64),
        lp.ValueArg("nt,nx", np.int32),
    ],
    name="leapfrog",
    assumptions="nt>=3 and nx>=3",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "t,x")
nt, nx = 23, 31
u = np.zeros((nt, nx))
u[0] = u[1] = np.exp(-((np.linspace(-3, 3, nx)) ** 2))
u[:, 0] = u[:, -1] = 0
u_dev = u.copy()
knl(u=u_dev, c2=0.3)

for t in range(1, nt - 1):
    for x in range(1, nx - 1):
        u[t + 1, x] = 2 * u[t, x] - u[t - 1, x] + 0.3 * (u[t, x - 1] - 2 * u[t, x] + u[t, x + 1])
RESULTS = {"u": u_dev}
EXPECTED = {"u": u}
