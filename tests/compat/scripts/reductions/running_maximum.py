"""Running maxima and minima of a series, as reductions over what came before."""

import loopy as lp
import numpy as np
import pyopencl as cl
from pyopencl.array import to_device

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(150)
n = 43
x = np.cumsum(rng.normal(size=n))

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<=i and 0<=k<=i }",
    """
    high[i] = max(j, x[j])
    low[i] = min(k, x[k])
    """,
    [lp.GlobalArg("x,high,low", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, x=to_device(queue, x))

RESULTS = {"high": out["high"].get(), "low": out["low"].get()}
EXPECTED = {"high": np.maximum.accumulate(x), "low": np.minimum.accumulate(x)}
