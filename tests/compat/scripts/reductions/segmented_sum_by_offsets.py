"""Sums of segments of different lengths, which an array of offsets bounds, empty ones too."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(147)
lengths = np.array([3, 0, 5, 1, 0, 8, 2], dtype=np.int32)
offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
values = rng.normal(size=lengths.sum())

knl = lp.make_kernel(
    ["{ [s]: 0<=s<nseg }", "[first,last] -> { [k]: first<=k<last }"],
    """
    for s
        <> first = offsets[s]
        <> last = offsets[s+1]
        <> total = sum(k, values[k])
        sums[s] = total
        means[s] = total/(last - first) if last > first else 0.0
    end
    """,
    [
        lp.GlobalArg("offsets", np.int64, shape="nseg+1"),
        lp.GlobalArg("values", np.float64, shape=None),
        lp.GlobalArg("sums,means", np.float64, shape="nseg"),
        lp.ValueArg("nseg", np.int32),
    ],
    assumptions="nseg>=1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, "s:g.0")
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    queue, offsets=cl.array.to_device(queue, offsets), values=cl.array.to_device(queue, values)
)

sums = np.array([part.sum() for part in np.split(values, offsets[1:-1])])
RESULTS = {"sums": out["sums"].get(), "means": out["means"].get()}
EXPECTED = {"sums": sums, "means": sums / np.maximum(lengths, 1)}
