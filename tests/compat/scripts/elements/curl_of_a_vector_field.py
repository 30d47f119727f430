"""Curls at nodes of elements: three components as three instructions, fused loops."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
parts = []
for axis, (b, c) in enumerate(((1, 2), (2, 0), (0, 1))):
    parts.append(
        f"curl[e,i,{axis}] = sum(j, D[{b},i,j]*F[e,j,{c}] - D[{c},i,j]*F[e,j,{b}])"
        f" {{id=c{axis}, nosync=c*}}"
    )
knl = lp.make_kernel(
    "{ [e,i,j]: 0<=e<ne and 0<=i,j<5 }",
    parts,
    [
        lp.GlobalArg("D", np.float64, shape=(3, 5, 5)),
        lp.GlobalArg("F,curl", np.float64, shape=("ne", 5, 3)),
        lp.ValueArg("ne", np.int32),
    ],
    name="curl",
    assumptions="ne>=1",
)
knl = lp.make_reduction_inames_unique(knl)
knl = lp.tag_inames(knl, {"e": "g.0", "i": "l.0"})
rng = np.random.default_rng(80)
D, F = rng.normal(size=(3, 5, 5)), rng.normal(size=(6, 5, 3))
evt, (curl,) = knl(queue, D=D, F=F)

G = np.einsum("dij,ejc->eicd", D, F)
expected = np.stack([G[..., c, b] - G[..., b, c] for b, c in ((1, 2), (2, 0), (0, 1))], axis=-1)
RESULTS = {"curl": curl}
EXPECTED = {"curl": expected}
