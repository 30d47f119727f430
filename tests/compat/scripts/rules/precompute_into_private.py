"""Basis functions per point are computed once into a private array: precompute with a sweep."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [p, d, e]: 0<=p<npts and 0<=d,e<4 }",
    """
    phi(k) := (1 + k)*x[p]**k
    mass[p] = sum((d, e), c[d]*c[e]*phi(d)*phi(e))
    """,
    [
        lp.GlobalArg("x, mass", np.float64, shape="npts"),
        lp.GlobalArg("c", np.float64, shape=(4,)),
        lp.ValueArg("npts", np.int32),
    ],
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.precompute(
    knl,
    "phi",
    "d, e",
    temporary_name="phi_at",
    temporary_address_space=lp.AddressSpace.PRIVATE,
    default_tag=None,
)
knl = lp.split_iname(knl, "p", 10, inner_tag="l.0", outer_tag="g.0")
lp.auto_test_vs_ref(ref_knl, ctx, knl, parameters={"npts": 33}, print_code=False, warmup_rounds=0)

rng = np.random.default_rng(29)
x, c = rng.uniform(size=33), rng.normal(size=4)
evt, (mass,) = knl(queue, x=cl.array.to_device(queue, x), c=cl.array.to_device(queue, c))

poly = sum(c[k] * (1 + k) * x**k for k in range(4))
RESULTS = {"mass": mass.get()}
EXPECTED = {"mass": poly**2}
