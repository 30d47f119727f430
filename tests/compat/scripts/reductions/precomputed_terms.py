"""Terms of a sum computed once into a table, which every output then reads."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(172)
n, m = 20, 12
x = rng.uniform(0, 3, size=n)

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<20 and 0<=k<12 }",
    """
    coeff(j) := exp(-decay*j)*cos(omega*j)
    f[i] = sum(k, coeff(k)*sin(k*x[i]))
    """,
    [lp.GlobalArg("x", np.float64, shape=20), lp.ValueArg("decay,omega", np.float64), ...],
    name="series",
    lang_version=(2018, 2),
)
knl = lp.precompute(
    knl,
    "coeff",
    "k",
    precompute_inames="kk",
    precompute_outer_inames=frozenset(),
    temporary_name="table",
    temporary_address_space=AddressSpace.PRIVATE,
    default_tag=None,
)
kernel = knl["series"]
evt, (f,) = knl(queue, x=cl.array.to_device(queue, x), decay=0.1, omega=0.5)

k = np.arange(m)
RESULTS = {
    "f": f.get(),
    "table": [int(extent) for extent in kernel.temporary_variables["table"].shape],
    "rules": sorted(kernel.substitutions),
}
EXPECTED = {
    "f": np.sin(np.outer(x, k)) @ (np.exp(-0.1 * k) * np.cos(0.5 * k)),
    "table": np.array([m]),
    "rules": [],
}
