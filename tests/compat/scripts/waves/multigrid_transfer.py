"""Restriction and prolongation of a multigrid cycle: strided subscripts, kernels in one program."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
restrict = lp.make_kernel(
    "{ [i]: 1<=i<m }",
    "coarse[i] = 0.25*fine[2*i-1] + 0.5*fine[2*i] + 0.25*fine[2*i+1]",
    [
        lp.GlobalArg("fine", np.float64, shape="2*m+1"),
        lp.GlobalArg("coarse", np.float64, shape="m+1"),
        lp.ValueArg("m", np.int32),
    ],
    name="restrict_",
    assumptions="m>=2",
)
prolong = lp.make_kernel(
    "{ [i,o]: 0<=i<m and 0<=o<2 }",
    "fine[2*i+o] = coarse[i] if o == 0 else 0.5*(coarse[i] + coarse[i+1])",
    [
        lp.GlobalArg("fine", np.float64, shape="2*m+1"),
        lp.GlobalArg("coarse", np.float64, shape="m+1"),
        lp.ValueArg("m", np.int32),
    ],
    name="prolong",
    assumptions="m>=1",
)
prolong = lp.tag_inames(prolong, {"o": "unr"})
prolong = lp.split_iname(prolong, "i", 8, outer_tag="g.0", inner_tag="l.0")
m = 18
fine = np.random.default_rng(55).random(2 * m + 1)
coarse = cl.array.zeros(queue, m + 1, np.float64)
back = cl.array.zeros(queue, 2 * m + 1, np.float64)
restrict(queue, fine=fine, coarse=coarse, m=m)
prolong(queue, fine=back, coarse=coarse, m=m)

below = np.zeros(m + 1)
below[1:-1] = 0.25 * fine[1:-3:2] + 0.5 * fine[2:-2:2] + 0.25 * fine[3:-1:2]
above = np.zeros(2 * m + 1)
above[::2] = below
above[1::2] = 0.5 * (below[1:] + below[:-1])
above[-1] = 0
RESULTS = {"coarse": coarse.get(), "fine": back.get()}
EXPECTED = {"coarse": below, "fine": above}
