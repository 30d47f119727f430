"""A sparse matrix in ELLPACK, padded with column -1, which a condition in the sum leaves out."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(11)
n, width = 53, 5
cols = np.full((n, width), -1, dtype=np.int32)
vals = np.zeros((n, width))
dense = np.zeros((n, n))
for row in range(n):
    count = row % (width + 1)
    cols[row, :count] = rng.choice(n, size=count, replace=False)
    vals[row, :count] = rng.normal(size=count)
    dense[row, cols[row, :count]] = vals[row, :count]
x = rng.normal(size=n)

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<n and 0<=k<width }",
    """
    <> acc = sum(k, (vals[i,k]*x[cols[i,k]] if cols[i,k] >= 0 else 0.0))
    y[i] = acc
    """,
    [
        lp.GlobalArg("x", np.float64, shape="n"),
        lp.GlobalArg("cols", np.int32, shape="n,width", order="F"),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_array_axes(knl, "vals", "N0,N1")
knl = lp.fix_parameters(knl, width=width)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0", slabs=(0, 1))
knl = lp.tag_inames(knl, {"k": "unr"})
evt, (y,) = knl(
    queue,
    cols=cl.array.to_device(queue, np.asfortranarray(cols)),
    vals=cl.array.to_device(queue, np.asfortranarray(vals)),
    x=cl.array.to_device(queue, x),
)

RESULTS = {"y": y.get()}
EXPECTED = {"y": dense @ x}
