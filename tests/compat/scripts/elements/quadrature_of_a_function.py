"""Integrals over many intervals by Gauss points: rules, constants of a kernel, groups."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
points, weights = np.polynomial.legendre.leggauss(5)
knl = lp.make_kernel(
    "{ [e,q]: 0<=e<ne and 0<=q<5 }",
    """
    f(t) := exp(-t*t)*cos(3*t)
    <> mid = 0.5*(a[e] + b[e])
    <> hw = 0.5*(b[e] - a[e])
    integral[e] = hw*sum(q, w[q]*f(mid + hw*p[q]))
    """,
    [
        lp.GlobalArg("a,b,integral", np.float64, shape="ne"),
        lp.TemporaryVariable(
            "p",
            np.float64,
            shape=(5,),
            initializer=points,
            read_only=True,
            address_space=AddressSpace.GLOBAL,
        ),
        lp.TemporaryVariable(
            "w",
            np.float64,
            shape=(5,),
            initializer=weights,
            read_only=True,
            address_space=AddressSpace.GLOBAL,
        ),
        lp.ValueArg("ne", np.int32),
    ],
    name="gauss_points",
    assumptions="ne>=1",
)
knl = lp.split_iname(knl, "e", 32, outer_tag="g.0", inner_tag="l.0")
edges = np.linspace(-1, 2, 48)
evt, (integral,) = knl(queue, a=edges[:-1].copy(), b=edges[1:].copy())

mid, hw = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
t = mid[:, None] + hw[:, None] * points
RESULTS = {"integrals": integral}
EXPECTED = {"integrals": hw * ((np.exp(-t * t) * np.cos(3 * t)) @ weights)}
