"""Scales the rows of a matrix to unit length: a function on rows, inlined into its caller."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
normalize = lp.make_function(
    "{ [k, l]: 0<=k,l<11 }",
    """
    <> norm2 = sum(k, row[k]*row[k]) {id=norm}
    scaled[l] = row[l] / sqrt(norm2) {dep=norm}
    """,
    [lp.GlobalArg("row, scaled", shape=(11,)), ...],
    name="normalize",
)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<7 and 0<=j<11 }",
    "for i\n [j]: b[i, j] = normalize([j]: a[i, j])\n end",
    [lp.GlobalArg("a", np.float64, shape=(7, 11)), lp.GlobalArg("b", shape=(7, 11)), ...],
)
knl = lp.merge([knl, normalize])
knl = lp.inline_callable_kernel(knl, "normalize")
knl = lp.tag_inames(knl, {"i": "g.0"})

a = np.random.default_rng(17).uniform(-1, 1, size=(7, 11))
evt, (b,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"b": b.get(), "left": [name for name in knl.callables_table if name == "normalize"]}
EXPECTED = {"b": a / np.linalg.norm(a, axis=1)[:, None], "left": []}
