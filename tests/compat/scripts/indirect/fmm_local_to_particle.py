"""Local expansions of boxes at their particles (L2P), by Horner's rule, backwards through a row."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(44)
nboxes, order, npart = 6, 4, 43
box_of = rng.integers(0, nboxes, size=npart).astype(np.int16)
local = rng.normal(size=(nboxes, order))
centers = np.linspace(0, 1, nboxes)
tgt = rng.random(npart)

knl = lp.make_kernel(
    "{ [p,m]: 0<=p<npart and 0<=m<order }",
    """
    for p
        <> b = box_of[p]
        <> dx = tgt[p] - centers[b]
        <> val = 0.0  {id=zero}
        for m
            val = val*dx + coeffs[b, order-1-m]  {id=horner, dep=zero}
        end
        pot[p] = val  {id=store, dep=horner}
    end
    """,
    [
        lp.GlobalArg("coeffs", None, shape="nboxes,order"),
        lp.GlobalArg("centers", None, shape="nboxes"),
        lp.ValueArg("nboxes", np.int32),
        "...",
    ],
    assumptions="npart>=1 and order>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "p", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    queue,
    box_of=cl.array.to_device(queue, box_of),
    coeffs=cl.array.to_device(queue, local),
    centers=cl.array.to_device(queue, centers),
    tgt=cl.array.to_device(queue, tgt),
)

powers = (tgt - centers[box_of])[:, None] ** np.arange(order)
RESULTS = {"pot": out["pot"].get(), "names": sorted(out)}
EXPECTED = {"pot": (local[box_of] * powers).sum(axis=1), "names": ["pot"]}
