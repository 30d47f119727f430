"""Every second column of a matrix: strides that the call brings along, stride:auto."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<m and 0<=j<n }",
    "total[i] = sum(j, part[i, j])",
    [
        lp.GlobalArg("part", np.float64, shape=("m", "n"), dim_tags="stride:auto,stride:auto"),
        lp.GlobalArg("total", np.float64, shape=("m",)),
        ...,
    ],
    lang_version=(2018, 2),
)
whole = np.random.default_rng(7).normal(size=(9, 13))
whole_dev = cl.array.to_device(queue, whole)
evt, (odd_half,) = knl(queue, part=whole_dev[:, ::2])
evt, (rows,) = knl(queue, part=whole_dev[::2])
evt, (columns,) = knl(queue, part=cl.array.to_device(queue, np.asfortranarray(whole)))

RESULTS = {"half": odd_half.get(), "rows": rows.get(), "columns": columns.get()}
EXPECTED = {
    "half": whole[:, ::2].sum(axis=1),
    "rows": whole[::2].sum(axis=1),
    "columns": whole.sum(axis=1),
}
