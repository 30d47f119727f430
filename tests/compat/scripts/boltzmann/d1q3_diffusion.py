"""Lattice Boltzmann for diffusion on a line: collide and stream in one kernel, periodic ends."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [x]: 0<=x<n }",
    """
    <> rho = f[0,x] + f[1,x] + f[2,x]
    g[0,x] = f[0,x] - omega*(f[0,x] - rho*2/3)
    g[1,(x+1) % n] = f[1,x] - omega*(f[1,x] - rho/6)
    g[2,(x+n-1) % n] = f[2,x] - omega*(f[2,x] - rho/6)
    """,
    [
        lp.GlobalArg("f", np.float64, shape=(3, "n")),
        lp.GlobalArg("g", np.float64, shape=(3, "n"), is_input=False),
        lp.ValueArg("omega", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="d1q3",
    assumptions="n>=1",
    seq_dependencies=True,
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
f = np.random.default_rng(90).random((3, 37))
dev = f.copy()
for _ in range(5):
    evt, (dev,) = knl(f=dev, omega=1.2)

weights = np.array([2 / 3, 1 / 6, 1 / 6])[:, None]
for _ in range(5):
    f = f - 1.2 * (f - weights * f.sum(axis=0))
    f = np.stack([f[0], np.roll(f[1], 1), np.roll(f[2], -1)])
RESULTS = {"f": dev}
EXPECTED = {"f": f}
