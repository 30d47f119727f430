"""Rays marched through a grid of cells with a density: the optical depth along each."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(61)
n, nrays, nsteps, h = 8, 21, 40, 0.25
density = rng.random((n, n)).astype(np.float32)
origin = rng.uniform(0, n, size=(nrays, 2)).astype(np.float32)
angle = rng.uniform(0, 2 * np.pi, size=nrays)
step = (h * np.stack([np.cos(angle), np.sin(angle)], axis=1)).astype(np.float32)

knl = lp.make_kernel(
    "{ [ray,k]: 0<=ray<nrays and 0<=k<nsteps }",
    """
    for ray
        <> depth = 0.0f {id=d0}
        for k
            <> px = origin[ray,0] + k*step[ray,0]
            <> py = origin[ray,1] + k*step[ray,1]
            <> inside = px >= 0 and py >= 0 and px < n and py < n {id=inside}
            if inside
                <int32> ix = floor(px)  {dep=inside}
                <int32> iy = floor(py)  {dep=inside}
                depth = depth + density[ix, iy]*h  {id=d1, dep=d0:inside}
            end
        end
        out[ray] = depth {dep=d1}
    end
    """,
    [
        lp.GlobalArg("density", np.float32, shape=("n", "n")),
        lp.ValueArg("h", np.float32),
        lp.ValueArg("n", np.int32),
        "...",
    ],
    assumptions="nrays>=1 and nsteps>=1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"ray": "g.0"})
evt, (out,) = knl(
    queue,
    density=cl.array.to_device(queue, density),
    origin=cl.array.to_device(queue, origin),
    step=cl.array.to_device(queue, step),
    h=h,
    nsteps=nsteps,
)

depth = np.zeros(nrays)
for k in range(nsteps):
    p = origin + np.float32(k) * step
    inside = ((p >= 0) & (p < n)).all(axis=1)
    cell = np.floor(p).astype(int)
    depth[inside] += density[cell[inside, 0], cell[inside, 1]] * h
RESULTS = {"depth": out.get()}
EXPECTED = {"depth": depth}
