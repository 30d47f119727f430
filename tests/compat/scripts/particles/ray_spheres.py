"""Ray casting: the nearest sphere each ray hits, by the argument of the least distance."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(60)
nrays, nspheres = 37, 6
direction = rng.normal(size=(nrays, 3))
direction /= np.linalg.norm(direction, axis=1)[:, None]
center = rng.normal(size=(nspheres, 3)) * 3
radius = rng.uniform(0.5, 1.5, size=nspheres)

knl = lp.make_kernel(
    "{ [r,s,k]: 0<=r<nrays and 0<=s<nspheres and 0<=k<3 }",
    """
    for r, s
        <> b = sum(k, d[r,k]*center[s,k])
        <> c = sum(k, center[s,k]**2) - radius[s]**2
        <> disc = b*b - c
        dist[r,s] = (b - sqrt(disc) if disc > 0 and b > 0 else far)  {id=dist}
    end
    t[r], hit[r] = argmin(s, dist[r,s], s)  {dep=dist}
    """,
    [
        lp.GlobalArg("dist", np.float64, shape="nrays,nspheres", is_input=False),
        lp.ValueArg("far", np.float64),
        ...,
    ],
    lang_version=(2018, 2),
)
knl = lp.make_reduction_inames_unique(knl)
knl = lp.duplicate_inames(knl, "r,s", "not id:dist and writes:t", new_inames=["r2", "s2"])
knl = lp.add_dtypes(knl, {"d": np.float64, "center": np.float64, "radius": np.float64})
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    queue,
    d=cl.array.to_device(queue, direction),
    center=cl.array.to_device(queue, center),
    radius=cl.array.to_device(queue, radius),
    far=1e3,
)

b = direction @ center.T
disc = b**2 - (center**2).sum(axis=1) + radius**2
expected = np.where((disc > 0) & (b > 0), b - np.sqrt(np.maximum(disc, 0)), 1e3)
RESULTS = {"t": out["t"].get(), "hits": out["hit"].get()[expected.min(axis=1) < 1e3]}
EXPECTED = {
    "t": expected.min(axis=1),
    "hits": expected.argmin(axis=1)[expected.min(axis=1) < 1e3],
}
