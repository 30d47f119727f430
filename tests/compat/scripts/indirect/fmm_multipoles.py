"""Monomial moments of the particles of each box (P2M of an FMM), by sums over variable lists."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(41)
nboxes, order = 9, 5
counts = rng.integers(0, 7, size=nboxes).astype(np.int32)
starts = (np.cumsum(counts) - counts).astype(np.int32)
npart = int(counts.sum())
src = rng.random(npart)
strength = rng.normal(size=npart)
centers = rng.random(nboxes)

knl = lp.make_kernel(
    ["{ [ibox,m]: 0<=ibox<nboxes and 0<=m<order }", "[npbox] -> { [p]: 0<=p<npbox }"],
    """
    for ibox
        <> npbox = counts[ibox]
        <> first = starts[ibox]
        for m
            mpole[ibox, m] = sum(p, strength[first+p] * (src[first+p] - centers[ibox])**m)
        end
    end
    """,
    [
        lp.GlobalArg("counts,starts", np.int32, shape=("nboxes",)),
        lp.GlobalArg("src,strength", np.float64, shape=("npart",)),
        lp.GlobalArg("centers", np.float64, shape=lp.auto),
        lp.ValueArg("npart", np.int32),
        ...,
    ],
    assumptions="nboxes>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, order=order)
knl = lp.tag_inames(knl, "ibox:g.0, m:l.0")
knl = lp.add_inames_for_unused_hw_axes(knl)
evt, (mpole,) = knl(
    queue,
    counts=cl.array.to_device(queue, counts),
    starts=cl.array.to_device(queue, starts),
    src=cl.array.to_device(queue, src),
    strength=cl.array.to_device(queue, strength),
    centers=cl.array.to_device(queue, centers),
)

expected = np.zeros((nboxes, order))
for ibox in range(nboxes):
    part = slice(starts[ibox], starts[ibox] + counts[ibox])
    for m in range(order):
        expected[ibox, m] = (strength[part] * (src[part] - centers[ibox]) ** m).sum()
RESULTS = {"mpole": mpole.get()}
EXPECTED = {"mpole": expected}
