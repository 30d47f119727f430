"""Nested rules, precomputed from the inside: deviations first, then their powers, then sums."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [s, i]: 0<=s<m and 0<=i<15 }",
    """
    dev(k) := v[s, k] - center[s]
    cube(k) := dev(k)*dev(k)*dev(k)
    skew[s] = sum(i, cube(i))/15
    """,
    [
        lp.GlobalArg("v", np.float64, shape=("m", 15)),
        lp.GlobalArg("center, skew", np.float64, shape=("m",)),
        lp.ValueArg("m", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.precompute(
    knl,
    "dev",
    "i",
    temporary_name="deviation",
    temporary_address_space=lp.AddressSpace.PRIVATE,
    precompute_outer_inames=frozenset("s"),
    default_tag="for",
)
knl = lp.tag_inames(knl, {"s": "g.0"})

rng = np.random.default_rng(28)
v, center = rng.normal(size=(8, 15)), rng.normal(size=8)
evt, (skew,) = knl(queue, v=cl.array.to_device(queue, v), center=cl.array.to_device(queue, center))

RESULTS = {"skew": skew.get(), "kept": sorted(knl.default_entrypoint.temporary_variables)}
EXPECTED = {"skew": ((v - center[:, None]) ** 3).mean(axis=1), "kept": ["deviation"]}
