"""Tridiagonal systems solved by Thomas' algorithm, many at once, with work arrays in memory."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(106)
nsys, n = 18, 12
lo, up, rhs = rng.normal(size=(3, nsys, n))
diag = rng.uniform(4, 6, size=(nsys, n))

knl = lp.make_kernel(
    "{ [s,i,j]: 0<=s<nsys and 1<=i<n and 0<=j<n-1 }",
    """
    for s
        cp[s,0] = up[s,0] / diag[s,0]  {id=c0}
        x[s,0] = rhs[s,0] / diag[s,0]  {id=x0}
        for i
            <> den = diag[s,i] - lo[s,i]*cp[s,i-1]       {id=den, dep=c0}
            x[s,i] = (rhs[s,i] - lo[s,i]*x[s,i-1]) / den {id=x1, dep=den:x0}
            cp[s,i] = up[s,i] / den                      {id=c1, dep=den:c0:x1}
        end
        for j
            x[s,n-2-j] = x[s,n-2-j] - cp[s,n-2-j]*x[s,n-1-j] {id=back, dep=c1:x1}
        end
    end
    """,
    [
        lp.GlobalArg("lo,diag,up,rhs", np.float64, shape="nsys,n"),
        lp.GlobalArg("x,cp", np.float64, shape="nsys,n", is_input=False),
        lp.ValueArg("nsys,n", np.int32),
    ],
    assumptions="nsys>=1 and n>=2",
)
knl = lp.split_iname(knl, "s", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.set_options(knl, return_dict=True)
arrays = {"lo": lo, "diag": diag, "up": up, "rhs": rhs}
evt, out = knl(queue, **{name: cl.array.to_device(queue, ary) for name, ary in arrays.items()})

expected = np.empty((nsys, n))
for s in range(nsys):
    full = np.diag(diag[s]) + np.diag(lo[s, 1:], -1) + np.diag(up[s, :-1], 1)
    expected[s] = np.linalg.solve(full, rhs[s])
RESULTS = {"x": out["x"].get()}
EXPECTED = {"x": expected}
