"""Kahan's summation: corrections in double precision recover what plain sums lose."""

import math

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [r, i]: 0<=r<3 and 0<=i<n }",
    """
    for r
        <float64> s = 0 {id=s0}
        <float64> c = 0 {id=c0}
        for i
            <> y = v[r, i] - c          {id=y, dep=s0:c0}
            <> t = s + y                {id=t, dep=y}
            c = (t - s) - y             {id=c, dep=t}
            s = t                       {id=s, dep=c}
        end
        total[r] = s {dep=s}
        lost[r] = c {dep=c:s}
    end
    """,
    [
        lp.GlobalArg("v", np.float64, shape=(3, "n")),
        lp.GlobalArg("total, lost", np.float64, shape=(3,)),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"r": "g.0"})

v = np.full((3, 1001), 1e-3)
v[:, 0] = (1e12, -1e12, 1.0)
evt, (total, lost) = knl(queue, v=cl.array.to_device(queue, v))

exact = np.array([math.fsum(row) for row in v])
RESULTS = {"exactly": [bool(abs(x - e) <= 1.3e-4) for x, e in zip(total.get(), exact, strict=True)]}
EXPECTED = {"exactly": [True, True, True]}
