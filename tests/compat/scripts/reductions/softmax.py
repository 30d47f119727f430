"""Softmax of rows, safe against overflow: a maximum, a sum of exponentials, a division."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(151)
x = (rng.normal(size=(9, 31)) * 40).astype(np.float32)

knl = lp.make_kernel(
    "{ [i,j,k,l]: 0<=i<m and 0<=j,k,l<n }",
    """
    for i
        <> top = max(j, x[i,j])
        <> den = sum(k, exp(x[i,k] - top))
        for l
            p[i,l] = exp(x[i,l] - top) / den
        end
        lse[i] = top + log(den)
    end
    """,
    [lp.GlobalArg("x,p", np.float32, shape="m,n"), lp.ValueArg("m,n", np.int32), "..."],
    assumptions="m>=1 and n>=1",
    name="softmax",
)
knl = lp.tag_inames(knl, {"i": "g.0"})
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, x=cl.array.to_device(queue, x))

shifted = x.astype(float) - x.max(axis=1, keepdims=True)
den = np.exp(shifted).sum(axis=1, keepdims=True)
RESULTS = {"p": out["p"].get(), "lse": out["lse"].get()}
EXPECTED = {"p": np.exp(shifted) / den, "lse": (x.max(axis=1, keepdims=True) + np.log(den))[:, 0]}
