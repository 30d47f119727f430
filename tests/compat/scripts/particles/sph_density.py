"""Smoothed particle hydrodynamics: densities by a cubic spline, then pressures, in two kernels."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(70)
n, h = 57, 0.3
pos = rng.random((n, 2))

density = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    """
    <> rho_i = sum(j, w(sqrt((x[i,0] - x[j,0])**2 + (x[i,1] - x[j,1])**2)/h))
    w(q) := (1 - 1.5*q**2 + 0.75*q**3 if q < 1 else (0.25*(2-q)**3 if q < 2 else 0))
    rho[i] = rho_i
    """,
    [
        lp.GlobalArg("x", np.float64, shape=lp.auto),
        lp.GlobalArg("rho", np.float64, shape=lp.auto),
        lp.ValueArg("h", np.float64),
        "...",
    ],
    name="density",
    lang_version=(2018, 2),
)
density = lp.tag_inames(density, {"i": "g.0"})
density = lp.split_iname(density, "j", 8)
evt, (rho,) = density(queue, x=cl.array.to_device(queue, pos), h=h)
pressure = lp.make_kernel("{ [i]: 0<=i<n }", "p[i] = stiff*((rho[i]/rho0)**7 - 1)")
pressure = lp.add_dtypes(
    pressure, {"rho": np.float64, "stiff": np.float64, "rho0": np.float64, "p": np.float64}
)
evt, (p,) = pressure(queue, rho=rho, stiff=2.0, rho0=4.0)

q = np.linalg.norm(pos[:, None] - pos, axis=2) / h
weight = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, np.where(q < 2, 0.25 * (2 - q) ** 3, 0))
RESULTS = {"rho": rho.get(), "p": p.get()}
EXPECTED = {"rho": weight.sum(axis=1), "p": 2 * ((weight.sum(axis=1) / 4) ** 7 - 1)}
