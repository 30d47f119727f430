"""The lower triangle scaled, the upper one cleared: triangular domains, nested for, join_inames."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    [
        "{ [i]: 0<=i<n }",
        "[i] -> { [j]: 0<=j<=i }",
        "[n,i] -> { [k]: i<k<n }",
    ],
    """
    for i
        for j
            b[i, j] = a[i, j]*(i - j + 1) {id=low, nosync=high}
        end
        for k
            b[i, k] = 0 {id=high, nosync=low}
        end
    end
    """,
    [lp.GlobalArg("a,b", np.float64, shape="n,n"), "..."],
    name="lower",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, "i:g.0")
copy = lp.make_kernel(
    "{ [i,j]: 0<=i,j<13 }",
    "c[i, j] = b[j, i]",
    [
        lp.GlobalArg("b", np.float64, shape=(13, 13)),
        lp.GlobalArg("c", np.float64, shape=(13, 13)),
        "...",
    ],
    lang_version=(2018, 2),
)
copy = lp.join_inames(copy, ["j", "i"], "ij")
a = np.random.default_rng(13).random((13, 13))
evt, (b,) = knl(queue, a=cl.array.to_device(queue, a))
evt, (c,) = copy(queue, b=b)

weights = np.arange(13)[:, None] - np.arange(13) + 1
RESULTS = {"lower": b.get(), "transposed": c.get()}
EXPECTED = {"lower": np.tril(a * weights), "transposed": np.tril(a * weights).T}
