"""Leapfrog's space-time domain mapped onto diagonals: map_domain, read off the kernel's domain."""

import islpy as isl
import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "[nx,nt] -> { [ix,it]: 1<=ix<nx-1 and 0<=it<nt }",
    "u[it+2,ix] = 2*u[it+1,ix] + c*(u[it+1,ix+1] - 2*u[it+1,ix] + u[it+1,ix-1]) - u[it,ix]",
    [
        lp.GlobalArg("u", np.float64, shape="nt+2,nx"),
        lp.ValueArg("c", np.float64),
        lp.ValueArg("nx,nt", np.int32),
    ],
    name="skewed",
    assumptions="nx>=3 and nt>=1",
    lang_version=(2018, 2),
)
plain = lp.prioritize_loops(knl, "it,ix")
skew = isl.BasicMap("[nx,nt] -> { [ix,it] -> [d,s]: s = it and d = ix + 2*it }")
skewed = lp.map_domain(knl, skew)
skewed = lp.prioritize_loops(skewed, "d,s")
nt, nx = 7, 15
u = np.random.default_rng(49).random((nt + 2, nx))
first, second = (cl.array.to_device(queue, u) for _ in range(2))
plain(queue, u=first, c=0.4)
skewed(queue, u=second, c=0.4)

for t in range(nt):
    now = u[t + 1]
    lap = now[2:] - 2 * now[1:-1] + now[:-2]
    u[t + 2, 1:-1] = 2 * now[1:-1] + 0.4 * lap - u[t, 1:-1]
RESULTS = {
    "plain": first.get(),
    "skewed": second.get(),
    "inames": sorted(skewed.default_entrypoint.all_inames()),
}
EXPECTED = {"plain": u, "skewed": u, "inames": ["d", "s"]}
