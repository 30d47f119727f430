"""A general product, beta*C + alpha*A*B, with shared tiles of both factors, in single precision."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(103)
m, n, k = 32, 48, 64
a = rng.normal(size=(m, k)).astype(np.float32)
b = rng.normal(size=(k, n)).astype(np.float32)
c = rng.normal(size=(m, n)).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,j,l]: 0<=i<m and 0<=j<n and 0<=l<k }",
    "c[i,j] = beta*c[i,j] + alpha*sum(l, a[i,l]*b[l,j])",
    [
        lp.GlobalArg("a,b,c", np.float32, shape=lp.auto),
        lp.ValueArg("alpha,beta", np.float32),
        "...",
    ],
    name="sgemm",
    assumptions="m mod 16 = 0 and n mod 16 = 0 and k mod 16 = 0 and m,n,k>=16",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "l", 16)
outer = frozenset(["i_outer", "j_outer", "l_outer"])
knl = lp.add_prefetch(
    knl, "a", ["l_inner", "i_inner"], fetch_outer_inames=outer, default_tag="l.auto"
)
knl = lp.add_prefetch(
    knl, "b", ["j_inner", "l_inner"], fetch_outer_inames=outer, default_tag="l.auto"
)
evt, (out,) = knl(
    queue,
    a=cl.array.to_device(queue, a),
    b=cl.array.to_device(queue, b),
    c=cl.array.to_device(queue, c),
    alpha=1.5,
    beta=-0.5,
)

RESULTS = {"c": out.get()}
EXPECTED = {"c": 1.5 * a.astype(float) @ b - 0.5 * c}
