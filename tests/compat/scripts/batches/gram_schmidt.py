"""Modified Gram-Schmidt of the columns of a batch of tall matrices, giving Q and R."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(108)
nb, m, n = 6, 9, 4
a = rng.normal(size=(nb, m, n))

knl = lp.make_kernel(
    [
        "{ [b]: 0<=b<nb }",
        "{ [k]: 0<=k<4 }",
        "{ [i0,i1,i2,i3]: 0<=i0,i1,i2,i3<9 }",
        "[k] -> { [j]: k<j<4 }",
    ],
    """
    for b, k
        <> norm2 = sum(i0, q[b,i0,k]**2)  {id=norm}
        r[b,k,k] = sqrt(norm2)            {id=rkk, dep=norm}
        q[b,i1,k] = q[b,i1,k]/sqrt(norm2) {id=scale, dep=norm:rkk}
        for j
            <> proj = sum(i2, q[b,i2,k]*q[b,i2,j])     {id=proj, dep=*scale}
            r[b,k,j] = proj                            {id=rkj, dep=proj}
            q[b,i3,j] = q[b,i3,j] - proj*q[b,i3,k]     {id=sub, dep=proj:rkj}
        end
    end
    """,
    [
        lp.GlobalArg("q", np.float64, shape="nb,9,4"),
        lp.GlobalArg("r", np.float64, shape="nb,4,4"),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"b": "g.0"})
evt, (q, r) = knl(
    queue, q=cl.array.to_device(queue, a), r=cl.array.zeros(queue, (nb, n, n), np.float64)
)

q, r = q.get(), r.get()
RESULTS = {"product": q @ r, "gram": q.transpose(0, 2, 1) @ q, "diag": np.einsum("bkk->bk", r)}
EXPECTED = {
    "product": a,
    "gram": np.broadcast_to(np.eye(n), (nb, n, n)),
    "diag": abs(np.einsum("bkk->bk", np.linalg.qr(a).R)),
}
