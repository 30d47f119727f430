"""DG's volume term: three derivatives with geometric factors, from one fetched field."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
Np = 20
knl = lp.make_kernel(
    "{ [k,m,n]: 0<=k<K and 0<=m,n<Np }",
    """
    <> du_drst = sum(m, dr[n,m]*u[k,m])
    <> du_ds = sum(m, ds[n,m]*u[k,m])
    rhs[k,n] = rx[k]*du_drst + sx[k]*du_ds
    """,
    [
        lp.GlobalArg("dr,ds", np.float64, shape="Np,Np"),
        lp.GlobalArg("u,rhs", np.float64, shape="K,Np"),
        lp.GlobalArg("rx,sx", np.float64, shape="K"),
        lp.ValueArg("K", np.int32),
    ],
    name="dg_volume",
    assumptions="K>=1",
    fixed_parameters={"Np": Np},
    lang_version=(2018, 2),
)
knl = lp.make_reduction_inames_unique(knl)
knl = lp.tag_inames(knl, {"k": "g.0", "n": "l.0"})
reduced = sorted(name for name in knl.default_entrypoint.all_inames() if name.startswith("m"))
knl = lp.add_prefetch(knl, "u[k,:]", default_tag="l.auto", fetch_outer_inames="k")
rng = np.random.default_rng(24)
dr, ds = rng.normal(size=(2, Np, Np))
u = rng.normal(size=(11, Np))
rx, sx = rng.normal(size=(2, 11))
evt, (rhs,) = knl(queue, dr=dr, ds=ds, u=u, rx=rx, sx=sx)

RESULTS = {"rhs": rhs, "number of sums": len(reduced)}
EXPECTED = {
    "rhs": rx[:, None] * (u @ dr.T) + sx[:, None] * (u @ ds.T),
    "number of sums": 2,
}
