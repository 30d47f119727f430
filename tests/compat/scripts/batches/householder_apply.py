"""A Householder reflection for each matrix of a batch, applied without forming it."""

import loopy as lp
import numpy as np
import pyopencl as cl
from pyopencl.array import to_device

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(122)
nb, m, n = 10, 6, 5
a = rng.normal(size=(nb, m, n))

knl = lp.make_kernel(
    "{ [b,i,j,k,l]: 0<=b<nb and 0<=i,k,l<m and 0<=j<n }",
    """
    for b
        <> alpha = sqrt(sum(k, a[b,k,0]**2))
        <> sign = (1.0 if a[b,0,0] >= 0 else -1.0)
        v(q) := a[b,q,0] + (sign*alpha if q == 0 else 0)
        <> beta = alpha*(alpha + sign*a[b,0,0])
        for j
            <> proj = sum(l, v(l)*a[b,l,j]) / beta
            out[b,i,j] = a[b,i,j] - proj*v(i)
        end
    end
    """,
    [
        lp.GlobalArg("a", np.float64, shape="nb,m,n"),
        lp.GlobalArg("out", np.float64, shape="nb,m,n"),
        lp.ValueArg("nb,m,n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, m=m, n=n)
knl = lp.tag_inames(knl, "b:g.0")
evt, (out,) = knl(queue, a=to_device(queue, a))

expected = np.empty_like(a)
for b in range(nb):
    v = a[b, :, 0].copy()
    v[0] += np.copysign(np.linalg.norm(v), v[0])
    expected[b] = a[b] - 2 / (v @ v) * np.outer(v, v @ a[b])
RESULTS = {"out": out.get()}
EXPECTED = {"out": expected}
