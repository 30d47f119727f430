"""A histogram of floats in equal bins: the bin is computed, then counted atomically."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(6)
values = rng.random(1009)
nbins = 12

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    for i
        <int32> b = floor(values[i]*nbins)
        <> bin = b if b < nbins else nbins-1
        hist[bin] = hist[bin] + 1 {atomic}
    end
    """,
    [
        lp.GlobalArg("hist", np.int32, shape=("nbins",), for_atomic=True),
        lp.GlobalArg("values", np.float64, shape=("n",)),
        lp.ValueArg("nbins", np.int32),
        ...,
    ],
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")
evt, (hist,) = knl(
    queue, values=cl.array.to_device(queue, values), hist=cl.array.zeros(queue, nbins, np.int32)
)

RESULTS = {"hist": hist.get(), "all": int(hist.get().sum())}
EXPECTED = {"hist": np.histogram(values, bins=nbins, range=(0, 1))[0], "all": 1009}
