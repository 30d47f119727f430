"""A DG lift: the faces' fluxes into elements, blocks per group, prefetched."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
Nv, Nf, Nfp = 10, 4, 6
knl = lp.make_kernel(
    "{ [k,n,m]: 0<=k<K and 0<=n<Nv and 0<=m<Nf }",
    "rhs[k,n] = sum(m, lift[n,m]*flux[k,m])",
    [
        lp.GlobalArg("lift", np.float64, shape=("Nv", "Nf"), order="F"),
        lp.GlobalArg("flux", np.float64, shape=("K", "Nf")),
        lp.GlobalArg("rhs", np.float64, shape=("K", "Nv")),
        lp.ValueArg("K", np.int32, approximately=1000),
    ],
    name="surface",
    assumptions="K>=1",
    fixed_parameters={"Nv": Nv, "Nf": Nf * Nfp},
)
ref_knl = knl
knl = lp.tag_inames(knl, {"n": "l.0"})
knl = lp.split_iname(knl, "k", 3, outer_tag="g.0", inner_tag="l.1")
knl = lp.add_prefetch(
    knl,
    "flux",
    ["m", "k_inner"],
    fetch_outer_inames="k_outer",
    default_tag="l.auto",
    fetch_bounding_box=True,
)
rng = np.random.default_rng(23)
lift = np.asfortranarray(rng.normal(size=(Nv, Nf * Nfp)))
flux = rng.normal(size=(29, Nf * Nfp))
args = {"lift": lift, "flux": flux}
evt, (rhs,) = knl(queue, **args)
evt, (rhs_ref,) = ref_knl(queue, **args)

RESULTS = {"blocked": rhs, "reference": rhs_ref}
EXPECTED = {"blocked": flux @ lift.T, "reference": flux @ lift.T}
