"""LU factorizations without pivoting of a batch of small matrices, one work item for each."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(105)
nbatch, n = 21, 5
mats = rng.normal(size=(nbatch, n, n)) + 2 * n * np.eye(n)

knl = lp.make_kernel(
    [
        "{ [b]: 0<=b<nbatch }",
        "{ [k]: 0<=k<n-1 }",
        "[n,k] -> { [i]: k<i<n }",
        "[n,k] -> { [r,c]: k<r,c<n }",
    ],
    """
    for b, k
        for i
            a[b,i,k] = a[b,i,k] / a[b,k,k]  {id=scale}
        end
        for r, c
            a[b,r,c] = a[b,r,c] - a[b,r,k]*a[b,k,c]  {id=update, dep=scale}
        end
    end
    """,
    [lp.GlobalArg("a", np.float64, shape="nbatch,n,n"), "..."],
    assumptions="nbatch>=1",
    name="lu",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, n=n)
knl = lp.split_iname(knl, "b", 8, outer_tag="g.0", inner_tag="l.0")
evt, (a,) = knl(queue, a=cl.array.to_device(queue, mats))

lu = a.get()
lower = np.tril(lu, -1) + np.eye(n)
expected = mats.copy()
for k in range(n - 1):
    expected[:, k + 1 :, k] /= expected[:, k, k][:, None]
    expected[:, k + 1 :, k + 1 :] -= np.einsum(
        "bi,bj->bij", expected[:, k + 1 :, k], expected[:, k, k + 1 :]
    )
RESULTS = {"lu": lu, "product": lower @ np.triu(lu)}
EXPECTED = {"lu": expected, "product": mats}
