"""Largest and smallest of each row and column, with the range of the whole as a float."""

import loopy as lp
import numpy as np
import pyopencl as cl
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(143)
a = rng.normal(size=(13, 6)).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,j,r,c]: 0<=i,r<m and 0<=j,c<n }",
    """
    high[i] = max(j, a[i,j])
    low[c] = min(r, a[r,c])
    """,
    [lp.GlobalArg("a", np.float32, shape="m,n"), "..."],
    assumptions="m>=1 and n>=1",
)
rank = lp.make_kernel(
    "{ [i,j,k,l]: 0<=i,k<m and 0<=j,l<n }",
    "width = max((i,j), a[i,j]) - min((k,l), a[k,l])",
    [
        lp.GlobalArg("a", np.float32, shape="m,n"),
        lp.GlobalArg("width", np.float32, shape=()),
        "...",
    ],
    assumptions="m>=1 and n>=1",
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, a=a)
evt, (width,) = rank(queue, a=a)

RESULTS = {"high": out["high"], "low": out["low"], "width": np.asarray(width)}
EXPECTED = {"high": a.max(axis=1), "low": a.min(axis=0), "width": np.asarray(np.ptp(a))}
