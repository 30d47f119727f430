"""Acoustic steps damped near the rims: a layer's profile from conditionals, scalars of float32."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 1<=i<n-1 and 1<=j<n-1 }",
    """
    for i, j
        <> di = if(i < width, width - i, if(i >= n - width, i - (n - width) + 1, 0))
        <> dj = if(j < width, width - j, if(j >= n - width, j - (n - width) + 1, 0))
        <> damp = exp(-strength*(di*di + dj*dj))
        <> lap = p[i-1,j] + p[i+1,j] + p[i,j-1] + p[i,j+1] - 4*p[i,j]
        q[i,j] = damp*(2*p[i,j] - damp*q[i,j] + 0.2f*lap)
    end
    """,
    [
        lp.GlobalArg("p,q", np.float32, shape="n,n"),
        lp.ValueArg("strength", np.float32),
        lp.ValueArg("n,width", np.int32),
    ],
    name="sponge",
    assumptions="n>=3",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, width=4)
knl = lp.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, "i:g.1")
rng = np.random.default_rng(48)
n = 19
p, q = rng.random((2, n, n)).astype(np.float32)
q_dev = cl.array.to_device(queue, q)
knl(queue, p=cl.array.to_device(queue, p), q=q_dev, strength=np.float32(0.01))

k = np.arange(n)
depth = np.where(k < 4, 4 - k, np.where(k >= n - 4, k - (n - 4) + 1, 0))
damp = np.exp(-0.01 * (depth[:, None] ** 2 + depth**2))[1:-1, 1:-1]
lap = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]
expected = q.copy()
expected[1:-1, 1:-1] = damp * (2 * p[1:-1, 1:-1] - damp * q[1:-1, 1:-1] + 0.2 * lap)
RESULTS = {"q": q_dev.get()}
EXPECTED = {"q": expected}
