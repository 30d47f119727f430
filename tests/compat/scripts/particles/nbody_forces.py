"""Forces of N bodies in three dimensions, tiled in shared memory by prefetches."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(62)
n = 96
pos = rng.normal(size=(n, 3)).astype(np.float32)
mass = rng.uniform(0.5, 1.5, size=n).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,j,k,d]: 0<=i,j<n and 0<=k,d<3 }",
    """
    r2(i_, j_) := eps + sum(k, (x[j_,k] - x[i_,k])**2)
    invr(i_, j_) := rsqrt(r2(i_, j_))
    f[i,d] = sum(j, m[j]*(x[j,d] - x[i,d])*invr(i,j)**3)
    """,
    [
        lp.GlobalArg("x", np.float32, shape="n,3"),
        lp.GlobalArg("m", np.float32, shape="n"),
        lp.GlobalArg("f", np.float32, shape="n,3"),
        lp.ValueArg("eps", np.float32),
        ...,
    ],
    name="nbody",
    assumptions="n mod 16 = 0 and n >= 16",
    lang_version=(2018, 2),
)
knl = lp.expand_subst(knl)
knl = lp.tag_inames(knl, {"k": "unr", "d": "for"})
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "j", 16)
knl = lp.prioritize_loops(knl, "d,j_outer,j_inner")
knl = lp.add_prefetch(
    knl, "m", ["j_inner"], fetch_outer_inames="i_outer,d,j_outer", default_tag="l.auto"
)
evt, (f,) = knl(
    queue, x=cl.array.to_device(queue, pos), m=cl.array.to_device(queue, mass), eps=1e-2
)

d = pos[None].astype(float) - pos[:, None]
r = np.sqrt((d**2).sum(axis=2) + 1e-2)
RESULTS = {"f": f.get()}
EXPECTED = {"f": np.einsum("j,ijd,ij->id", mass, d, r**-3)}
